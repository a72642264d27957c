package exchange

func (x *Exchange) ownVotes() (record []byte, stamp uint64, err error) {
	if v, ok := any(x.db).(interface {
		Votes() ([]byte, uint64, error)
	}); ok {
		return v.Votes()
	}
	return nil, 0, nil
}

func (x *Exchange) hearVotes(record []byte) error {
	if v, ok := any(x.db).(interface{ HearVotes([]byte) error }); ok {
		return v.HearVotes(record)
	}
	return nil
}

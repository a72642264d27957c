package streams

const (
	BatchEntries = batchEntries
	BatchBytes   = batchBytes
)

var NewKeys = newKeys

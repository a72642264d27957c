package verb

// The exit codes in the verbs' help. Each verb lists the errors that it can meet.
const (
	UsageCode = `
  64  wrong usage`
	EmptyCode = `
  65  a message of 0 bytes`
	LittleCode  = EmptyCode + `, or with too little content to sign`
	DeclareCode = LittleCode + `, or a file that
      is no e-mail message`
	InputCode = `
  66  a file that cannot be read, or a folder without messages`
	OutputCode = `
  74  the results cannot be written`
	DaemonCodes = `
  69  no daemon answers` + OutputCode + `, or the daemon's disk failed
  75  the daemon cannot do it now; try again later
  76  the daemon has another version, or another program answered
  77  no permission`
	StopsAt = `
The exit code is that of the first failure. After 69 to 77 the command stops;
otherwise it continues.`
	Continues = `
The exit code is that of the first failure; the other messages are processed.`

	QuestionCodes = UsageCode + EmptyCode + InputCode + DaemonCodes + StopsAt
	ChangeCodes   = UsageCode + LittleCode + InputCode + DaemonCodes + StopsAt
	StatusCodes   = UsageCode + DaemonCodes
)

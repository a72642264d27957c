// Package turns decides which message is judged next, and for how long it may keep others
// waiting.
//
// It owns the lines of the clients, the processors, the memory booked for judging, the slots
// for unpacking, and the setbacks of senders. It does not judge: a Request names the
// function that does, and its Stage reports how far that is.
//
// As many messages are judged at a time as there are processors. The others wait, each SMTP
// client in a line of its own, and the lines take turns. A client that sends many messages
// therefore waits for itself, and delays a message of another client by one turn at most.
//
// A turn is short, and shorter while many wait. A message that is still being signed after its quantum yields its
// processor to the next message and continues beside it (overtime). From then on its sender
// is set back; see setbacks. Expensive mail therefore never occupies the processors of
// other mail, whatever signing costs and however many clients send it. Only our own part of
// a judgement, which no message can prolong, keeps its processor. Unpacking also needs a
// slot; see slots. Messages beyond their quantum share a part of the memory, of which a network
// has a share; see late.go.
//
// The life of a turn:
//
//	Ask -> shed      is there time for all that wait?
//	    -> fill      next: whose turn is it, and is there memory?
//	    -> begin     a processor, memory, the timer of the quantum; Request.Judge
//	         unpack  a slot, or park until resume
//	         overrun yield the processor; bound: keep the memory, or stop and begin again
//	    -> end       processor and memory are free, the sender is charged; fill
//	Leave            the session's deadline has come
//
// Locks: Turns.mu guards everything, except that Stage has an atomic state of its own.
//
// Goroutines: one for each judgement, started by the function that New receives. Its caller
// waits for them.
package turns

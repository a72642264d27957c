package signature

import (
	"github.com/spambloom/spambloom/signature/guard"
	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/work"
)

// SignsAttachment reports whether an attachment has content of its own.
var SignsAttachment = signsAttachment

// GuardOf returns the guard that covers a message.
func GuardOf(m Message) guard.Guard {
	c := computers.Get().(*computer)
	defer c.release()
	c.begin(m)
	mail.Walk(m, nil, c.leaf)
	return c.guardOf(m, c.reader.visibleText())
}

// ComputeSteps signs a message whose texts have spent some steps before. It returns the
// steps, too.
func ComputeSteps(m Message, unpacking Unpacking, spent int) (Set, work.Steps) {
	c := computers.Get().(*computer)
	defer c.release()
	c.turns.unpacking = unpacking
	c.work.Spend(spent)
	set := c.compute(m)
	return set, c.work
}

// ComputeStopped signs a message that was stopped before it begins. It returns the steps.
func ComputeStopped(m Message) work.Steps {
	c := computers.Get().(*computer)
	defer c.release()
	stop := make(chan struct{})
	close(stop)
	c.turns.unpacking = func() (<-chan struct{}, func()) { panic("unpacking after a stop") }
	c.work.Stop = stop
	c.compute(m)
	return c.work
}

// Unpack calls f as the signing of a message does, until it was not stopped.
func Unpack(unpacking Unpacking, f func(w *work.Steps, isStopped func() bool)) {
	c := new(computer)
	c.turns.unpacking = unpacking
	c.unpack(func() { f(&c.work, c.turns.isStopped) })
}

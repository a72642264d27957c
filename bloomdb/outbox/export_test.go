package outbox

// Pending returns the number of positions that are pending.
func (p *Outbox) Pending() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total
}

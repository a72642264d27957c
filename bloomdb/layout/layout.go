package layout

// MaxSetDomains is how many domains of a set count: what signature.Set has at most.
const MaxSetDomains = 16

// Package ascii has the rules for ASCII bytes in mail, HTML and URLs: classes of characters,
// hexadecimal digits, and comparing without case. It allocates nothing and changes nothing
// but the destination of AppendLower.
package ascii

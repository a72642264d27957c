package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"

	"github.com/spambloom/spambloom/bloomdb/exchange/link"
	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/cmd/spambloom/finding"
	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/reporting/api"
)

// patience bounds a question to Redis.
const patience = 5 * time.Second

// redis checks the connection, and what can be seen of the server.
func (p *patient) redis(ctx context.Context) []finding.Finding {
	r := p.config.Redis
	if r.URL == "" {
		if len(p.facts.Exchange) > 0 {
			return []finding.Finding{finding.Skip("redis", "the daemon has the URL from --redis or SPAMBLOOM_REDIS, which this command does not know")}
		}
		return []finding.Finding{finding.Good("redis", "redis.url is not set: this site is alone")}
	}
	redis.SetLogger(redisclient.Logger{Log: slog.New(slog.DiscardHandler)}) // the finding has the error
	c, err := redisclient.Dial(r.URL, redisclient.Options{CA: r.CA, Cert: r.Cert, Key: r.Key})
	if err != nil {
		return []finding.Finding{finding.Bad("redis", "correct redis.url, then spambloomd -t", "the daemon will not start: %v", err)}
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := c.Ping(ctx).Err(); err != nil {
		cause := link.CauseOf(err)
		return []finding.Finding{finding.Bad("redis", cause.Advice(), "%s: %s; other sites are not heard", cause, link.Plain(redisclient.WithoutArguments(err.Error())))}
	}
	results := []finding.Finding{p.daemonsRedis()}
	info, err := c.Info(ctx, "persistence", "memory").Result()
	if err != nil { // the user with the minimum rights
		return append(results, finding.Good("redis", "the user has no more rights than it needs; on its machine check appendonly and maxmemory-policy (contrib/redis.md)"))
	}
	return append(results, persistence(info)...)
}

// daemonsRedis says whether the daemon, too, can use the Redis that has answered this command.
func (p *patient) daemonsRedis() finding.Finding {
	switch {
	case p.sites != nil && p.sites.RedisFault == link.Pending: // if it lasts, the daemon itself says so
		return finding.Skip("redis", "answers this command; the daemon makes its first connection now, so ask again in some seconds")
	case p.sites != nil && p.sites.RedisFault != "":
		return finding.Bad("redis", "spambloom sites", "answers this command, but not the daemon yet: %s", p.sites.RedisFault)
	}
	return finding.Good("redis", "answers")
}

// persistence checks what INFO contains about the server.
func persistence(info string) (results []finding.Finding) {
	values := make(map[string]string)
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		values[name] = value
	}
	results = append(results, finding.Bad("redis", "give the daemon a user of its own, contrib/redis.md", "the user in redis.url has more rights than it needs: its password is that of the whole Redis"))
	if values["aof_enabled"] == "0" {
		results = append(results, finding.Bad("redis", "redis-cli config set appendonly yes, and in redis.conf", "Redis does not write to disk: after its restart the sites send everything again"))
	}
	if policy := values["maxmemory_policy"]; policy != "" && policy != "noeviction" {
		results = append(results, finding.Bad("redis", "redis-cli config set maxmemory-policy noeviction, and in redis.conf", "maxmemory-policy is %s: Redis deletes records when its memory is full", policy))
	}
	return results
}

// federation checks what the daemon sees of other sites, and whether votes can list anything.
func (p *patient) federation() (results []finding.Finding) {
	voters, full := 0, 0
	for _, peer := range p.config.Peers {
		switch {
		case peer.Name == p.config.SiteName():
		case peer.Trust == "vote":
			voters++
		case peer.Trust == "full":
			full++
		}
	}
	if need := p.config.Reports.Votes; voters > 0 && int64(voters) < need {
		results = append(results, finding.Bad("sites", fmt.Sprintf("add sites with trust = \"vote\", or set reports.votes = %d", voters), "%d sites may vote, but %d must agree: their reports list nothing", voters, need))
	}
	if p.sites == nil || p.config.Redis.URL == "" {
		return results
	}
	for _, note := range p.sites.Notes {
		results = append(results, finding.Bad("sites", "spambloom sites", "%s", note))
	}
	for _, s := range p.sites.Sites {
		if s.Link != nil && s.Refused["parameters"] > 0 {
			results = append(results, finding.Bad("sites", "make period, keep, capacity and max_error_per_mail in [reports] the same on all sites", "records of %s are refused: it has other parameters", s.Site))
		}
	}
	others, ignored := p.ignored()
	if len(ignored) > 0 && len(ignored) == others {
		results = append(results, finding.Bad("sites", "spambloom mute --undo SITE", "no report of another site has an effect here: %s", strings.Join(ignored, ", ")))
	}
	if len(results) == 0 {
		trust := fmt.Sprintf("%d [[peer]] with full trust, %d with votes", full, voters)
		if len(p.config.Peers) == 0 {
			trust = "without any [[peer]], every site with the federation key is fully trusted"
		}
		if len(ignored) > 0 {
			trust += "; ignored here: " + strings.Join(ignored, ", ") + " (spambloom mute --undo SITE)"
		}
		results = append(results, finding.Good("sites", "other sites in use: %d; %s", others-len(ignored), trust))
	}
	return results
}

// ignored returns the number of other sites, and those of them that are muted or dropped here.
func (p *patient) ignored() (others int, ignored []string) {
	for _, s := range p.sites.Sites {
		if s.State == api.StateSelf {
			continue
		}
		others++
		if s.IsIgnored() {
			ignored = append(ignored, s.Site+" is "+s.State)
		}
	}
	return others, ignored
}

// disk compares the size that the state folder can grow to with the room that is left.
func (p *patient) disk() finding.Finding {
	var s unix.Statfs_t
	dir := p.state
	if err := unix.Statfs(dir, &s); err != nil {
		return finding.Skip("disk", "%s: %v", dir, err)
	}
	free := int64(s.Bavail) * s.Bsize
	if p.status == nil || p.status.Overview == nil || p.status.Overview.MostDisk == 0 {
		return finding.Skip("disk", "%s are free in %s; the daemon does not report how much it may need, spambloomd -t prints it", format.Size(free), dir)
	}
	used, err := folderSize(dir)
	if err != nil {
		return finding.Skip("disk", "%v; run doctor as root", err)
	}
	most := p.status.Overview.MostDisk
	if missing := most - used - free; missing > 0 {
		return finding.Bad("disk", "free space on the disk of "+dir+", or lower reports.capacity",
			"%s may grow to %s, now has %s, and %s are free: %s are missing, and when the disk is full, reports are refused", dir, format.Size(most), format.Size(used), format.Size(free), format.Size(missing))
	}
	return finding.Good("disk", "%s may grow to %s, and %s are free", dir, format.Size(most), format.Size(free))
}

// folderSize returns the bytes of the files in a folder. Files that disappear meanwhile do not count.
func folderSize(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				bytes += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return bytes, err
}

// memory compares the daemon's bound with the machine's memory.
func (p *patient) memory() finding.Finding {
	if p.status == nil || p.status.Overview == nil || p.status.Overview.MostMemory == 0 {
		return finding.Skip("memory", "the daemon does not report its bound; spambloomd -t prints it")
	}
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return finding.Skip("memory", "%v", err)
	}
	most, total := p.status.Overview.MostMemory, totalMemory(string(text))
	switch {
	case total == 0:
		return finding.Skip("memory", "/proc/meminfo does not contain MemTotal")
	case most > total*8/10:
		return finding.Bad("memory", "lower milter.max_memory, reports.capacity or bulk.capacity", "the daemon may use %d MiB of %d MiB: the kernel may end it under load", most>>20, total>>20)
	}
	return finding.Good("memory", "the daemon uses at most %d MiB of %d MiB", most>>20, total>>20)
}

// totalMemory returns MemTotal in bytes, or 0.
func totalMemory(meminfo string) int64 {
	for line := range strings.Lines(meminfo) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err == nil {
				return kib << 10
			}
		}
	}
	return 0
}

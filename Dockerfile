# One file, two images: the daemon with its command and nothing else (no shell, no
# packages), and a Postfix to show them with (see docker-compose.yml).
# contrib/images.env pins the base images by digest.

ARG GOLANG_IMAGE=golang:1.26-bookworm
ARG DEBIAN_IMAGE=debian:bookworm-slim

FROM ${GOLANG_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-X github.com/spambloom/spambloom/cmd/internal/version.linked=$VERSION" -o /out/ ./cmd/spambloomd ./cmd/spambloom
# What the static programs need beside themselves. The number of the user is that of the
# volumes of earlier images.
RUN install -d /image/etc/ssl/certs /image/var/lib \
 && echo 'root:x:0:0::/:/sbin/nologin' >/image/etc/passwd && echo 'root:x:0:' >/image/etc/group \
 && echo 'spambloom:x:999:999::/var/lib/spambloom:/sbin/nologin' >>/image/etc/passwd \
 && echo 'spambloom:x:999:' >>/image/etc/group \
 && cp /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ \
 && install -d -m 0700 /folders/state/spambloom /folders/federation/federation

FROM ${DEBIAN_IMAGE} AS postfix
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postfix \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 5000 vmail && useradd --uid 5000 --gid 5000 --no-create-home vmail \
 && install -d -o vmail -g vmail /var/mail/example.test
# Mail for anyone@example.test goes to a Maildir. No chroot: the milter's name
# is looked up in the container's DNS.
RUN postconf -e maillog_file=/dev/stdout inet_interfaces=all inet_protocols=ipv4 \
      mydestination= mynetworks=127.0.0.0/8 local_transport=virtual \
      virtual_mailbox_domains=example.test virtual_mailbox_base=/var/mail \
      'virtual_mailbox_maps=static:example.test/Maildir/' \
      virtual_uid_maps=static:5000 virtual_gid_maps=static:5000 \
      milter_default_action=accept \
 && postconf -F '*/*/chroot=n' \
 && postconf -M postlog/unix-dgram='postlog unix-dgram n - n - 1 postlogd'
EXPOSE 25
CMD ["postfix", "start-fg"]

FROM scratch AS spambloom
COPY --from=build /image/ /
COPY --from=build --chown=999:999 /folders/state/ /var/lib/
COPY --from=build --chown=999:999 /folders/federation/ /
COPY contrib/container.toml /etc/spambloom/spambloom.toml
COPY --from=build /out/ /usr/bin/
USER spambloom
ENV PATH=/usr/bin STATE_DIRECTORY=/var/lib/spambloom
VOLUME ["/var/lib/spambloom", "/federation"]
EXPOSE 8899 8898
# Healthy: mail is judged, reports are written, and Redis answers if there is one.
HEALTHCHECK --interval=10s --timeout=10s --start-period=30s CMD ["spambloom", "status", "--ready"]
ENTRYPOINT ["spambloomd"]

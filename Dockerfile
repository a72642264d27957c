# One file, two images: the daemon with its command, and a Postfix to show them
# with (see docker-compose.yml). contrib/images.env pins the base images by digest.

ARG GOLANG_IMAGE=golang:1.26-bookworm
ARG DEBIAN_IMAGE=debian:bookworm-slim

FROM ${GOLANG_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-X github.com/spambloom/spambloom/cmd/internal/version.linked=$VERSION" -o /out/ ./cmd/spambloomd ./cmd/spambloom

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

FROM ${DEBIAN_IMAGE} AS spambloom
RUN groupadd --system spambloom \
 && useradd --system --gid spambloom --no-create-home --home-dir /var/lib/spambloom spambloom \
 && install -d -o spambloom -g spambloom -m 0700 /var/lib/spambloom /federation
COPY contrib/container.toml /etc/spambloom/spambloom.toml
COPY --from=build /out/ /usr/bin/
USER spambloom
ENV STATE_DIRECTORY=/var/lib/spambloom
VOLUME ["/var/lib/spambloom", "/federation"]
EXPOSE 8899 8898
# Healthy: mail is judged, reports are written, and Redis answers if there is one.
HEALTHCHECK --interval=10s --timeout=10s --start-period=30s CMD ["spambloom", "status", "--ready"]
ENTRYPOINT ["spambloomd"]

FROM swift:6.3.1-bookworm AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      ca-certificates libcrypt-dev libcurl4-openssl-dev libpq-dev libsodium-dev libsqlite3-dev libssl-dev zlib1g-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /lockstep
COPY . .
# The same flags as in scripts/lib/common.sh.
RUN swift build -c release --product lockstep --static-swift-stdlib -Xswiftc -enforce-exclusivity=unchecked \
 && strip -o /usr/local/bin/lockstep .build/release/lockstep

# Target bare: only the server, its libraries and the time zones ('docker build --target bare .').
# It has no shell. Without libcurl, the server refuses --profile-upstream and --smtp, and cannot
# deliver to webhooks. It refuses --store without libpq, and --identity without libcurl and libcrypto.
FROM build AS parts
RUN apt-get update && apt-get install -y --no-install-recommends tzdata && rm -rf /var/lib/apt/lists/*
RUN mkdir -p /bare/tmp /bare/etc /bare/var/lib/dpkg/status.d /empty \
 && cp --parents /usr/local/bin/lockstep /bare \
 && ldd /usr/local/bin/lockstep | grep -o '/[^ ]*' | while read -r library; do \
      cp -L --parents "$library" /bare; \
      package=$(dpkg -S "*/$(basename "$(readlink -f "$library")")" | sed 's/[:,].*//; q'); \
      dpkg-query -s "$package" >"/bare/var/lib/dpkg/status.d/$package"; \
    done \
 && mkdir -p /bare/usr/share && cp -a /usr/share/zoneinfo /bare/usr/share/ \
 && echo 'hosts: files dns' >/bare/etc/nsswitch.conf
FROM scratch AS bare
COPY --from=parts /bare /
COPY --from=parts --chown=10001:10001 /empty /data
LABEL org.opencontainers.image.title="Lockstep" \
      org.opencontainers.image.description="A state server: an app's state in lockstep on all of a user's devices" \
      org.opencontainers.image.licenses="MIT"
VOLUME /data
USER 10001:10001
EXPOSE 8080
ENV LOCKSTEP_DATA=/data/lockstep.db
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["/usr/local/bin/lockstep", "health"]
ENTRYPOINT ["/usr/local/bin/lockstep", "serve", "--host", "::"]

# Collects the libraries that the server needs and the base image lacks: libcurl for
# --profile-upstream, --identity, --smtp and webhooks, libpq for --store, libcrypto for --identity and
# imported passwords, and libcrypt for imported passwords. It keeps dpkg's data about each package for
# vulnerability scanners. It copies single files because whole packages would take more: libcurl's
# package depends on libssh2, which the server does not use. The time zones are for dates that
# people read.
FROM debian:bookworm-slim AS libraries
COPY --from=build /usr/local/bin/lockstep /usr/local/bin/lockstep
RUN touch /before && mkdir -p /libraries/var/lib/dpkg/status.d \
 && apt-get update \
 && apt-get install -y --no-install-recommends libcrypt1 libcurl3-gnutls libpq5 libsodium23 libsqlite3-0 libssl3 libstdc++6 zlib1g \
 && for name in /usr/lib/*/libcurl-gnutls.so.4 /usr/lib/*/libpq.so.5 /usr/lib/*/libcrypto.so.3 /usr/lib/*/libcrypt.so.1 $(ldd /usr/local/bin/lockstep /usr/lib/*/libcurl-gnutls.so.4 /usr/lib/*/libpq.so.5 | grep -o '/[^ :]*\.so[^ :]*' | sort -u); do \
      file=$(readlink -f "$name"); \
      [ -n "$(find "$file" -cnewer /before)" ] || continue; \
      install -D -m 644 "$file" "/libraries$(dirname "$file")/$(basename "$name")"; \
      package=$(dpkg -S "*/$(basename "$file")" | sed 's/[:,].*//; q'); \
      dpkg-query -s "$package" >"/libraries/var/lib/dpkg/status.d/$package"; \
    done \
 && if [ ! -e /usr/share/zoneinfo/UTC ]; then \
      apt-get install -y --no-install-recommends tzdata && install -d /libraries/usr/share && cp -a /usr/share/zoneinfo /libraries/usr/share/; \
    fi

FROM debian:bookworm-slim
COPY --from=libraries /libraries /
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /usr/local/bin/lockstep /usr/local/bin/lockstep
LABEL org.opencontainers.image.title="Lockstep" \
      org.opencontainers.image.description="A state server: an app's state in lockstep on all of a user's devices" \
      org.opencontainers.image.licenses="MIT"
# The user is a number, so that an orchestrator can see that it is not root. The folder exists
# before it becomes a volume, so that a new volume belongs to this user.
RUN install -d -o 10001 -g 10001 /data
VOLUME /data
USER 10001:10001
EXPOSE 8080
# Commands find the store through this variable.
ENV LOCKSTEP_DATA=/data/lockstep.db
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["lockstep", "health"]
ENTRYPOINT ["lockstep", "serve", "--host", "::"]

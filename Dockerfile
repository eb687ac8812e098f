# One executable in a small image: docker build --build-arg COMMIT=$(git rev-parse HEAD) -t turnpike . It contains no secrets; settings
# come from the environment. The image of a release is built of its executables instead: see docs/releasing.md.

FROM node:22-bookworm-slim AS build
WORKDIR /turnpike
# Dependencies change less often than the program.
COPY package.json package-lock.json .npmrc ./
COPY bin bin
RUN sh bin/with-bun production --version
COPY src src
COPY console console
# Only released executables have the version of a release; others name this commit, if it is given.
ARG COMMIT=
RUN npm run build -- --commit "$COMMIT"

FROM debian:bookworm-slim
RUN useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin turnpike \
 && install --directory --mode=0700 --owner=turnpike --group=turnpike /var/lib/turnpike
COPY --from=build /turnpike/dist/turnpike /usr/local/bin/turnpike
USER 10001:10001
ENV TURNPIKE_LISTEN=0.0.0.0:8080 TURNPIKE_DATA=/var/lib/turnpike
WORKDIR /var/lib/turnpike
VOLUME /var/lib/turnpike
EXPOSE 8080
# Checks only that the process answers: a restart does not help a node that drains or whose store is unavailable.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET /healthz HTTP/1.1\\r\\nhost: localhost\\r\\nconnection: close\\r\\n\\r\\n' >&3 && read -r status <&3 && [[ $status == *' 200 '* ]]"]
# SIGTERM drains for up to drain_seconds: set `docker stop --time` or stop_grace_period to more.
STOPSIGNAL SIGTERM
ENTRYPOINT ["turnpike"]
CMD ["serve"]

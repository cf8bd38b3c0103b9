# syntax=docker/dockerfile:1

# The worker and the starter, and nothing else: no shell, no package manager, no root.
#
#   docker build --build-arg VERSION=v0.1.0 -t reagent .
#   docker run --rm -v ./agents.yaml:/work/agents.yaml:ro -e OPENAI_API_KEY reagent
#
# An MCP server that is started by a command has to be in the image: copy the worker into an image with what
# the command needs, as deploy/mcp does, or reach the server by URL.

FROM --platform=$BUILDPLATFORM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG TARGETOS TARGETARCH
ARG VERSION=dev
ARG REVISION=unknown
# Static, so that they need no C library; cross-compiled, so that another platform needs no emulation.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -o /out/ -ldflags="-s -w \
      -X github.com/reagent-dev/reagent/internal/version.release=$VERSION -X github.com/reagent-dev/reagent/internal/version.commit=$REVISION" \
    ./cmd/worker ./cmd/starter

FROM scratch
ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Reagent" \
      org.opencontainers.image.description="Durable ReAct agents on Temporal" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.revision=$REVISION
# Certificates for model endpoints and Temporal Cloud, and the time zones that Go looks up.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /usr/local/go/lib/time/zoneinfo.zip /usr/local/share/zoneinfo.zip
COPY --from=build /out/worker /out/starter /usr/local/bin/
ENV PATH=/usr/local/bin ZONEINFO=/usr/local/share/zoneinfo.zip
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["worker"]

# docker build -t tempo9 .
# docker run --rm -p 127.0.0.1:11435:11435 -v "$PWD/models:/models:ro" -e TEMPO9_API_KEY=KEY tempo9 serve /models/F.gguf --host 0.0.0.0
#
# The server listens on the container's own loopback unless told otherwise, which nothing outside can reach. --host 0.0.0.0 lets
# others in, and needs a key (TEMPO9_API_KEY, --api-key-file). Then "-p 127.0.0.1:..." keeps it to this machine.
FROM debian:bookworm-slim AS build
WORKDIR /src
COPY . .
RUN scripts/setup
RUN apt-get install --yes --no-install-recommends dpkg-dev file
RUN scripts/build release tempo9 pages
RUN cd build/release && cpack -G DEB -B /out

FROM debian:bookworm-slim
COPY --from=build /out/*.deb /tmp/packages/
RUN apt-get update && \
    apt-get install --yes --no-install-recommends ca-certificates curl /tmp/packages/*.deb && \
    rm -rf /tmp/packages /var/lib/apt/lists/*
# Pulled models and computed prompts lie below its home: mount a volume there to keep them.
RUN useradd --uid 10001 --create-home tempo9
USER tempo9
WORKDIR /home/tempo9
EXPOSE 11435
HEALTHCHECK --start-period=5m --start-interval=2s --interval=30s --timeout=5s \
    CMD curl --fail --silent --output /dev/null http://127.0.0.1:11435/health
ENTRYPOINT ["tempo9"]
CMD ["--help"]

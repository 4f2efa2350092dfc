# The router without AWS: docker build -t model-router . && docker run -p 8787:8787 -v data:/data -e MODEL_ROUTER_ADMIN_SECRET=… model-router
# docs/local.md says what its options are.
FROM node:24-slim AS build
WORKDIR /source
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm run --silent prepack

FROM node:24-slim
WORKDIR /app
COPY --from=build /source/package.json /source/LICENSE ./
COPY --from=build /source/dist ./dist
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 8787
# SIGTERM lets streams end, for up to 25 s: docker stop -t 30
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT || 8787)).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Without a shell between, so that the signal reaches the router.
ENTRYPOINT ["node", "dist/model-router.mjs", "--host", "0.0.0.0", "--data", "/data"]

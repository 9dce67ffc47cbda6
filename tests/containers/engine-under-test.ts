/**
 * The engine that tests/containers/with-engine.sh started.
 * @throws {Error} there is none: these tests fail without an engine, they are not skipped
 */
export function engineUnderTest(): { kind: string; address: string } {
  const { ENGINE_KIND: kind, DOCKER_HOST: address } = process.env;
  if (!kind || !address) {
    throw new Error(
      'no container engine: run "bash tests/containers/with-engine.sh docker npm run test:containers"',
    );
  }
  return { kind, address };
}

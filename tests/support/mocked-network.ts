import nock from 'nock';
import { afterAll, afterEach, beforeAll } from 'vitest';

// Its import puts nock between the process and the network, also for the files that come after in the same worker.
nock.restore();

/**
 * For the tests of one file, or of the `describe` that calls it: the network is shut, and what a test did not ask for is
 * forgotten with it. After them the network is as it was.
 */
export function mockNetwork(): void {
  beforeAll(() => {
    nock.activate();
    nock.disableNetConnect();
  });
  afterEach(() => {
    nock.cleanAll();
    nock.abortPendingRequests();
  });
  afterAll(() => {
    nock.enableNetConnect();
    nock.restore();
  });
}

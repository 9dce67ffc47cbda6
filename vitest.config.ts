import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/**
 * Test files at a time. Each has its own database, WhatsApp and ports, and waits often: two share even a single
 * core well. The processes that each starts set the upper end.
 */
const maxWorkers = Math.min(Math.max(availableParallelism(), 2), 6);

/** Vitest's own limit, a second, is too short on a busy machine; nothing waits for it where all is well. */
const expect = { poll: { timeout: 20_000 } };

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['tests/unit/**/*.test.ts'],
          environment: 'node',
          expect,
          // Loading the modules again for each of these short files would take longer than the tests.
          pool: 'threads',
          isolate: false,
          setupFiles: ['tests/support/restore-globals.ts'],
          maxWorkers,
          // Some try thousands of random values: a machine that is busy with other things takes its time.
          testTimeout: 60_000,
        },
      },
      {
        // Nodes, database, WhatsApp and agents on a virtual clock; many more runs: npm run test:simulation.
        test: {
          name: 'simulation',
          include: ['tests/simulation/**/*.test.ts'],
          environment: 'node',
          pool: 'threads',
          maxWorkers,
          // Seconds on a quiet machine; it may be busy with other things.
          testTimeout: 600_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['tests/integration/**/*.test.ts', 'tests/contracts/**/*.test.ts'],
          environment: 'node',
          expect,
          globalSetup: ['tests/support/database-setup.ts'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
          maxWorkers,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['tests/e2e/**/*.test.ts'],
          environment: 'node',
          expect,
          globalSetup: ['tests/support/database-setup.ts'],
          testTimeout: 90_000,
          hookTimeout: 90_000,
          maxWorkers,
          // Together with the integration tests: the longest files of both begin first, and no core waits at the end.
          sequence: { groupOrder: 1 },
        },
      },
      {
        // Minutes of outages, fail-over and storms: npm run test:faults. What every run needs of it is in e2e.
        test: {
          name: 'faults',
          include: ['tests/faults/**/*.test.ts'],
          environment: 'node',
          expect,
          globalSetup: ['tests/support/database-setup.ts'],
          // Waits have their own limits; these are for a machine that is busy with other things.
          testTimeout: 300_000,
          hookTimeout: 300_000,
          // Most of these tests wait for the end of an outage; more at a time would only slow each other down.
          maxWorkers: 2,
        },
      },
      {
        // The image and docker-compose.yml on a real engine: npm run test:docker.
        test: {
          name: 'docker',
          include: ['tests/docker/**/*.test.ts'],
          environment: 'node',
          expect,
          fileParallelism: false,
          testTimeout: 1_500_000,
          hookTimeout: 150_000,
        },
      },
    ],
  },
});

import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Test files at a time. Each has its own database, WhatsApp and ports, and waits often: one more than there are cores
 * keeps them busy. The processes that each starts set the upper end.
 */
const maxWorkers = Math.min(availableParallelism() + 1, 6);

/** Vitest's own limit, a second, is too short on a busy machine; a test that passes does not wait for it. */
const expect = { poll: { timeout: 40_000 } };

/** The files that take longest, the longest first. */
const SLOW_FILES = [
  'slow/hostile-texts',
  'slow/backup-waiting-work',
  'slow/backup-database',
  'slow/shell-runtime',
  'slow/busy-service',
  'slow/webhooks',
  'slow/whatsapp-limits',
  'slow/mcp',
  'slow/proxy',
  'slow/client-version',
  'slow/embedded-postgres',
  'slow/emulator',
  'slow/demo',
  'slow/backup-memory',
  'slow/docs-commands',
  'slow/agent-cli',
  'slow/ended-processes',
  'e2e/disconnects',
  'e2e/governor',
  'e2e/a2a-server',
  'e2e/npc-agents',
  'e2e/abi',
  'e2e/unknown-numbers',
  'e2e/hosted-agents',
  'e2e/many-chats',
  'e2e/storm',
  // while their process is small, which makes it quick to start others
  'integration/agent-host',
  'integration/shell-agents',
  'integration/process-runtime',
  'integration/baileys-provider',
  'integration/baileys-defects',
  'integration/npc-chain',
  'contracts/agent-kinds',
  'features/a2a/a2a-server',
  'features/routes/routes-api',
  'features/hosting/agents-api',
];

/**
 * Starts slow files first, so that no core is idle at the end. Without the times of an earlier run Vitest starts large
 * files first, and slow files are small. Keeps the files of a project together, because only those can share a worker.
 */
class SlowFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = SLOW_FILES.findIndex((name) => moduleId.endsWith(`/tests/${name}.test.ts`));
      return index < 0 ? SLOW_FILES.length : index;
    };
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => b.project.name.localeCompare(a.project.name) || rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: SlowFilesFirst },
    // Keeps the transformed modules in node_modules, each under a hash of its text and of this file.
    experimental: { fsModuleCache: true },
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
          // Some test thousands of random values, which takes time on a busy machine.
          testTimeout: 60_000,
        },
      },
      {
        // That documentation, source and packages agree: reads the files of the repository, one with a language server.
        test: {
          name: 'repository',
          include: ['tests/repository/**/*.test.ts'],
          environment: 'node',
          expect,
          pool: 'threads',
          isolate: false,
          maxWorkers,
          testTimeout: 60_000,
        },
      },
      {
        // Nodes, database, WhatsApp and agents on a virtual clock; npm run test:simulation makes many more runs.
        test: {
          name: 'simulation',
          include: ['tests/simulation/**/*.test.ts'],
          environment: 'node',
          pool: 'threads',
          maxWorkers,
          // Takes seconds on a quiet machine.
          testTimeout: 600_000,
        },
      },
      {
        // On PostgreSQL: what each feature promises at its door, the contracts of ports, and further integration tests. One
        // project, because only its files share workers, and loading the modules takes longer than most of them.
        test: {
          name: 'integration',
          include: ['tests/{features,contracts,integration}/**/*.test.ts'],
          environment: 'node',
          expect,
          globalSetup: ['tests/support/database-setup.ts'],
          setupFiles: ['tests/support/fast-libsignal.ts', 'tests/support/restore-globals.ts'],
          isolate: false,
          testTimeout: 90_000,
          hookTimeout: 90_000,
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
          // The files of a worker share one paired service: `TestBed.shared()`.
          isolate: false,
          setupFiles: ['tests/support/fast-libsignal.ts'],
          globalSetup: ['tests/support/database-setup.ts'],
          testTimeout: 90_000,
          hookTimeout: 90_000,
          maxWorkers,
          // Together with the integration tests, so that no core is idle between them.
          sequence: { groupOrder: 1 },
        },
      },
      {
        // Further e2e and integration tests, which take longer: npm run test:slow, which CI runs too.
        test: {
          name: 'slow',
          include: ['tests/slow/**/*.test.ts'],
          environment: 'node',
          expect,
          globalSetup: ['tests/support/database-setup.ts', 'tests/support/adk-server-setup.ts'],
          testTimeout: 90_000,
          hookTimeout: 90_000,
          maxWorkers,
        },
      },
      {
        // Outages, fail-over and storms that take minutes: npm run test:faults. Short forms of them are in e2e.
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
        // Agents in containers of a real engine: npm run test:containers, in tests/containers/with-engine.sh.
        test: {
          name: 'containers',
          include: ['tests/containers/**/*.test.ts'],
          environment: 'node',
          expect,
          globalSetup: ['tests/support/database-setup.ts'],
          fileParallelism: false,
          testTimeout: 150_000,
          hookTimeout: 150_000,
        },
      },
      {
        // The short form of the console tests: part of npm test when Chromium is installed.
        test: {
          name: 'console-short',
          include: ['tests/console/every-page.test.ts'],
          environment: 'node',
          expect,
          globalSetup: ['tests/support/database-setup.ts'],
          testTimeout: 90_000,
          hookTimeout: 90_000,
          maxWorkers,
          sequence: { groupOrder: 1 },
        },
      },
      {
        // The console in Chromium: npm run test:console.
        test: {
          name: 'console',
          include: ['tests/console/**/*.test.ts'],
          environment: 'node',
          expect,
          globalSetup: ['tests/support/database-setup.ts'],
          testTimeout: 90_000,
          hookTimeout: 90_000,
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

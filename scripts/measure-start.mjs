// `node scripts/measure-start.mjs [--check]`: a first and a second `npm start` of a copy of this repository in a folder with a
// space, each until wa2ai is ready. Prints time, packages, megabytes and memory. `--check`: the exit code is 1 when packages,
// megabytes or the memory of the first start are over their budgets; times depend on the machine and are only printed.
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { fail, filesIn, root, say, step } from './steps.mjs';

const BUDGET = { packages: 310, megabytes: 320, memoryMegabytes: 320, memoryGrowth: 1.1 };
/** A start takes longer when the registry is slow; then the script fails instead of waiting on. */
const MAX_START_MS = 600_000;
/** When the API is loaded and the first garbage is collected. */
const SETTLED_MS = 5_000;

const { values: options } = parseArgs({ options: { check: { type: 'boolean' } } });
const folder = mkdtempSync(join(tmpdir(), 'wa2ai start '));
const copy = join(folder, 'wa2ai');
let problems = [];
try {
  await step('copying the repository', async () => copyTo(copy));
  const first = await measure('the first start');
  const second = await measure('the second start');
  const modules = join(copy, 'node_modules');
  const packages = packagesIn(modules);
  const megabytes = Math.round(diskBytes(modules) / 2 ** 20);
  console.log(`| | first start | second start |
| --- | --- | --- |
| ready after | ${first.seconds} s | ${second.seconds} s |
| memory of wa2ai | ${first.memory} MB | ${second.memory} MB |
| packages in node_modules | ${packages} | |
| node_modules | ${megabytes} MB | |`);
  problems = [
    packages > BUDGET.packages && `${packages} packages are installed; the budget is ${BUDGET.packages}.`,
    megabytes > BUDGET.megabytes && `node_modules has ${megabytes} MB; the budget is ${BUDGET.megabytes}.`,
    first.memory > BUDGET.memoryMegabytes &&
      `wa2ai uses ${first.memory} MB after the first start; the budget is ${BUDGET.memoryMegabytes}.`,
    first.memory > second.memory * BUDGET.memoryGrowth &&
      `wa2ai uses ${first.memory} MB after the first start, and ${second.memory} MB after the second: the build stays in memory.`,
  ].filter((problem) => problem !== false);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
for (const problem of problems) say(problem);
if (options.check && problems.length > 0) process.exitCode = 1;

/** The files that git tracks, as they are now; in an archive without git, all but what installs and builds wrote. */
function copyTo(target) {
  const git = spawnSync('git', ['ls-files', '-z'], { cwd: root, maxBuffer: 2 ** 26, encoding: 'utf8' });
  const written = new Set(['node_modules', 'dist', '.git']);
  const files =
    git.status === 0
      ? git.stdout.split('\0').filter((path) => path !== '')
      : filesIn(root)
          .map((path) => path.slice(root.length + 1))
          .filter((path) => !path.split(sep).some((part) => written.has(part)));
  for (const file of files) {
    const source = statSync(join(root, file), { throwIfNoEntry: false });
    if (!source?.isFile()) continue;
    mkdirSync(dirname(join(target, file)), { recursive: true });
    cpSync(join(root, file), join(target, file));
  }
}

/** Starts the copy, waits until it is ready, reads the memory of its process and stops it. */
async function measure(name) {
  return step(`${name} of the copy`, async () => {
    const beganMs = performance.now();
    const { npm_lifecycle_event: _started, ...env } = process.env;
    // its own process group, so that nothing remains when npm ends first
    const child = spawn('npm', ['start'], {
      cwd: copy,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...env,
        WA2AI_DATA_DIR: join(folder, 'data'),
        WA2AI_PORT: '0',
        WA2AI_LOG_FORMAT: 'json',
        // reaches neither WhatsApp nor its pages
        WA2AI_WHATSAPP_WS_URL: 'ws://127.0.0.1:9',
        WA2AI_WHATSAPP_VERSION: 'built-in',
      },
    });
    let output = '';
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.stderr.on('data', (chunk) => (output += chunk));
    try {
      await new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error('it was not ready in time')), MAX_START_MS);
        createInterface({ input: child.stdout }).on('line', (line) => {
          output += `${line}\n`;
          if (!line.includes('"wa2ai is ready"')) return;
          clearTimeout(timer);
          resolve();
        });
        void ended.then(() => {
          clearTimeout(timer);
          reject(new Error('it ended'));
        });
      });
      const seconds = ((performance.now() - beganMs) / 1_000).toFixed(1);
      await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
      return { seconds, memory: memoryOf(serviceOf(child.pid)) };
    } catch (error) {
      fail(`${name} failed: ${error.message}\n${output}`);
    } finally {
      try {
        process.kill(-child.pid, 'SIGTERM');
      } catch {
        // it has ended
      }
      await ended;
    }
  });
}

/** Id of the process that serves: the last of the chain npm, shell, node. */
function serviceOf(parent) {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' });
  const rows = stdout.split('\n').map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? []);
  let pid = String(parent);
  for (;;) {
    const child = rows.find(([, , ppid, args]) => ppid === pid && /start\.mjs|npm|sh -c/.test(args ?? ''));
    if (!child) return pid;
    pid = child[1];
  }
}

/** Resident memory in megabytes. */
function memoryOf(pid) {
  const { stdout } = spawnSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' });
  return Math.round(Number(stdout) / 1_024);
}

function packagesIn(modules) {
  const { packages } = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8'));
  return Object.values(packages).filter((entry) => entry.link !== true).length;
}

/** Bytes on disk, in blocks of 4 KiB. */
function diskBytes(path) {
  return readdirSync(path, { withFileTypes: true }).reduce((sum, entry) => {
    const inner = join(path, entry.name);
    if (entry.isDirectory()) return sum + 4_096 + diskBytes(inner);
    return entry.isFile() ? sum + Math.ceil(statSync(inner).size / 4_096) * 4_096 : sum;
  }, 0);
}

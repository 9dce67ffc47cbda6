// `npm test`: installs and builds what is missing, then runs the tests of every run; `npm run test:slow` and `npm run
// test:faults` those that take longer. Arguments go to Vitest: names of files, or `--project NAME`. The last line reports
// the counts, and the lines before it name the slowest files and the tests that failed; the exit code is 0 only when at
// least one test ran and none failed.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { prepare } from './build.mjs';
import { readIfThere, root, runNode, say, tool } from './steps.mjs';

const PROJECTS = ['unit', 'repository', 'simulation', 'integration', 'e2e'];
const SLOWEST = 10;

await prepare();
const args = process.argv.slice(2);

// Vitest stops its database and children on these; this process must outlive it to report
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => undefined);

const projects = args.includes('--project')
  ? []
  : [...PROJECTS, ...(await consoleProject())].flatMap((name) => ['--project', name]);
const folder = mkdtempSync(join(tmpdir(), 'wa2ai-test-report-'));
const report = join(folder, 'report.json');
say('running the tests');
const { code } = await runNode(tool('vitest', 'vitest.mjs'), [
  'run',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${report}`,
  ...projects,
  ...args,
]);
const text = readIfThere(report);
const { passed, failed } = count(text, code);
rmSync(folder, { recursive: true, force: true });
for (const line of [...slowest(text), ...failures(text)]) console.log(line);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;

/** The short form of the console tests, which needs Chromium. */
async function consoleProject() {
  const { chromiumPath } = await import(
    pathToFileURL(join(root, 'dist', 'tests', 'support', 'chromium.js')).href
  );
  if (chromiumPath() !== undefined) return ['console-short'];
  say(
    'the console tests are left out, because Chromium is not installed. On Debian: apt-get install chromium',
  );
  return [];
}

/** A file that could not be loaded counts as one failed test, and so does an error outside any test. */
function count(text, exitCode) {
  if (text === undefined) {
    say('Vitest ended without a report');
    return { passed: 0, failed: 1 };
  }
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(text);
  const broken = testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((assertion) => assertion.status === 'failed'),
  ).length;
  const counted = numFailedTests + broken;
  if (numPassedTests === 0 && counted === 0) {
    say('no test ran');
    return { passed: 0, failed: 0 };
  }
  if (counted === 0 && exitCode !== 0) {
    say('no test failed, but Vitest did: an error outside the tests, shown above');
    return { passed: numPassedTests, failed: 1 };
  }
  return { passed: numPassedTests, failed: counted };
}

/** The files that took longest, of a run with more than these. */
function slowest(text) {
  const files = text === undefined ? [] : JSON.parse(text).testResults;
  if (files.length <= SLOWEST) return [];
  const seconds = ({ startTime, endTime }) => (endTime - startTime) / 1_000;
  const sorted = files.sort((a, b) => seconds(b) - seconds(a)).slice(0, SLOWEST);
  return [
    'the slowest files:',
    ...sorted.map((file) => `  ${seconds(file).toFixed(1).padStart(6)} s ${relative(root, file.name)}`),
  ];
}

/** For each test that failed, and each file that could not be loaded: a line with its name, then the start of its error. */
function failures(text) {
  if (text === undefined) return [];
  return JSON.parse(text)
    .testResults.filter(({ status }) => status === 'failed')
    .flatMap(({ name, message, assertionResults }) => {
      const file = relative(root, name);
      const failed = assertionResults.filter((assertion) => assertion.status === 'failed');
      if (failed.length === 0) return [`failed: ${file}`, ...startOf(message)];
      return failed.flatMap(({ fullName, failureMessages }) => [
        `failed: ${file} > ${fullName}`,
        ...startOf(failureMessages.join('\n')),
      ]);
    });
}

function startOf(error) {
  return error.split('\n', 12).map((line) => `  ${line.slice(0, 300)}`);
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { startChromium } from '../support/chromium.ts';
import { EventClient } from '../support/event-client.ts';
import { createPerson } from '../whatsapp-emulator/person.ts';
import { Cluster } from './cluster.ts';
import { withGround } from './ground.ts';
import { cpuSeconds, median, quantile, round } from './statistics.ts';

/** How much slower than this machine the processor of the browser is. */
const SLOWED = 4;
const MESSAGES = 40;
/** Consoles that are open at a time. */
const CONSOLES = 50;
/** The start page asks for its counts this often. */
const STATS_EVERY_MS = 60_000;

/** What `benchConsole` measures; times are medians of the rounds. */
export interface ConsoleResults {
  firstView: {
    requests: number;
    /** Compressed, with headers and the answers of the API. */
    kilobytes: number;
    /** From the navigation until the numbers of the start page are shown, on a slowed processor. */
    shownMs: number;
    /** Of it: the main thread of the browser worked. */
    busyMs: number;
    /** Of it: until the document, the script and the first answer of the API arrived. */
    documentMs: number;
    scriptMs: number;
    apiMs: number;
  };
  /** From the event in a client of the stream until the message is in the list of chats. */
  toScreenMs: { p50: number; p95: number };
  /** Share of a core that the node uses, in percent. */
  idle: { alone: number; withConsoles: number };
}

/** Measures the console in Chromium against one node. @throws {Error} Chromium is not installed */
export async function benchConsole(rounds: number, idleSeconds: number): Promise<ConsoleResults> {
  let results: ConsoleResults | undefined;
  await withGround(async (ground) => {
    const cluster = await Cluster.start(ground, { names: ['n1'], accounts: 1 });
    const browser = await startChromium();
    const service = cluster.nodes.any();
    try {
      const views: Array<ConsoleResults['firstView']> = [];
      for (let index = 0; index < rounds; index += 1) views.push(await firstView(browser, service.url));
      const of = (value: (view: ConsoleResults['firstView']) => number) => round(median(views.map(value)));
      const [phone] = cluster.phones;
      if (!phone) throw new Error('no account was started');
      const ana = createPerson(ground.emulator, { phone: '34611111111', name: 'Ana' });
      const say = async (text: string) => {
        await ana.say(text, { to: phone });
        await ana.nextReply();
      };
      const delays = await eventsToScreen(browser, service.url, say);
      await browser.close();
      results = {
        firstView: {
          requests: of(({ requests }) => requests),
          kilobytes: of(({ kilobytes }) => kilobytes),
          shownMs: of(({ shownMs }) => shownMs),
          busyMs: of(({ busyMs }) => busyMs),
          documentMs: of(({ documentMs }) => documentMs),
          scriptMs: of(({ scriptMs }) => scriptMs),
          apiMs: of(({ apiMs }) => apiMs),
        },
        toScreenMs: { p50: round(median(delays)), p95: round(quantile(delays, 0.95)) },
        idle: await idleCost(service.url, service.pid, idleSeconds),
      };
    } finally {
      await browser.close();
      await cluster.stop();
    }
  });
  if (!results) throw new Error('nothing was measured');
  return results;
}

/** Runs in the page before its own scripts: says when the numbers of the start page are there. */
const NOTE_SHOWN = `window.shown = new Promise((resolve) => {
  new MutationObserver((_, observer) => {
    if (!document.querySelector('.figure strong') || document.querySelector('.skeleton')) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
  }).observe(document, { childList: true, subtree: true });
})`;

async function firstView(browser: Browser, url: string): Promise<ConsoleResults['firstView']> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send('Network.enable');
  await devtools.send('Performance.enable');
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOWED });
  let bytes = 0;
  let requests = 0;
  devtools.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
    requests += 1;
  });
  await page.addInitScript(NOTE_SHOWN);
  await page.goto(`${url}/console/`);
  const shownMs = await page.evaluate<number>('window.shown');
  const { metrics } = await devtools.send('Performance.getMetrics');
  const busy = metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0;
  const timing = await page.evaluate<Array<{ name: string; endMs: number }>>(
    `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
      .map(({ name, responseEnd }) => ({ name, endMs: responseEnd }))`,
  );
  const lastOf = (pattern: RegExp) =>
    Math.max(0, ...timing.filter(({ name }) => pattern.test(name)).map(({ endMs }) => endMs));
  await page.locator('.plot canvas').first().waitFor();
  await context.close();
  return {
    requests,
    kilobytes: bytes / 1_000,
    shownMs,
    busyMs: busy * 1_000,
    documentMs: lastOf(/\/console\/$/),
    scriptMs: lastOf(/start-page[^/]*\.js$/),
    apiMs: lastOf(/\/api\/stats/),
  };
}

async function eventsToScreen(
  browser: Browser,
  url: string,
  say: (text: string) => Promise<void>,
): Promise<number[]> {
  await say('first');
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${url}/console/#/chats`);
  await page.locator('.virtual-row').first().waitFor();
  const client = await EventClient.open(url);
  await client.nextOf('ready');
  const delays: number[] = [];
  for (let index = 0; index < MESSAGES; index += 1) {
    const text = `ping ${index}.`;
    const shown = untilShown(page, text);
    const said = say(text);
    await client.nextOf('message');
    const atMs = Date.now();
    delays.push((await shown) - atMs);
    await said;
  }
  await client.close();
  return delays;
}

/** When a text is in the page, by the clock of this machine. */
function untilShown(page: Page, text: string): Promise<number> {
  return page.evaluate<number>(`new Promise((resolve) => {
    const isShown = () => document.querySelector('.virtual-row')?.textContent.includes(${JSON.stringify(text)});
    const observer = new MutationObserver(() => {
      if (!isShown()) return;
      observer.disconnect();
      resolve(Date.now());
    });
    observer.observe(document, { childList: true, subtree: true, characterData: true });
  })`);
}

async function idleCost(url: string, pid: number, seconds: number): Promise<ConsoleResults['idle']> {
  const share = async () => {
    const before = cpuSeconds(pid);
    await sleep(seconds * 1_000);
    return round(((cpuSeconds(pid) - before) / seconds) * 100, 2);
  };
  const alone = await share();
  const clients = await Promise.all(Array.from({ length: CONSOLES }, () => EventClient.open(url)));
  for (const client of clients) void client.nextOf('reset').catch(() => undefined);
  // Each console asks for its counts at another moment.
  const timer = setInterval(() => void fetch(`${url}/api/stats`), STATS_EVERY_MS / CONSOLES);
  const withConsoles = await share();
  clearInterval(timer);
  await Promise.all(clients.map((client) => client.close()));
  return { alone, withConsoles };
}

/** A table of the results, beside their targets. */
export function consoleText({ firstView: view, toScreenMs, idle }: ConsoleResults): string {
  const rows = [
    ['first view, compressed, with the answers of the API', `${view.kilobytes} KB`, '< 150 KB'],
    [`numbers shown, processor ${SLOWED}x slower`, `${view.shownMs} ms`, '< 1500 ms'],
    ['  of it: main thread of the browser', `${view.busyMs} ms`, ''],
    [
      '  until the document / the code of the page / the counts arrived',
      `${view.documentMs} / ${view.scriptMs} / ${view.apiMs} ms`,
      '',
    ],
    ['  requests', `${view.requests}`, ''],
    ['event to the screen, p50 / p95', `${toScreenMs.p50} / ${toScreenMs.p95} ms`, '< 200 ms'],
    [
      `node with ${CONSOLES} idle consoles, beside ${idle.alone} % alone`,
      `${idle.withConsoles} % of a core`,
      '< 2 %',
    ],
  ];
  return [
    '| console | wa2ai | target |',
    '| --- | --- | --- |',
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ].join('\n');
}

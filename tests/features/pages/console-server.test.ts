import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import express from 'express';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleServer } from '../../../router/src/features/pages/feature.ts';
import { mountServer } from '../../../router/src/infra/operations/protocol-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'wa2ai-console-'));
let server: Server;
let base: string;

beforeAll(async () => {
  mkdirSync(join(folder, 'built', 'assets'), { recursive: true });
  writeFileSync(join(folder, 'secret.js'), 'secret');
  writeFileSync(join(folder, 'built', 'index.html'), '<!doctype html>console');
  writeFileSync(join(folder, 'built', 'assets', 'index-1.js'), 'run()');
  writeFileSync(join(folder, 'built', 'assets', 'index-1.js.br'), brotliCompressSync('run()'));
  const app = express();
  const face = consoleServer(join(folder, 'built'));
  app.use(mountServer(face, () => (_request, _response, next) => next()));
  await new Promise<void>((resolve) => {
    server = app.listen(0, '127.0.0.1', () => resolve());
  });
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true });
});

const load = (path: string, init: RequestInit = {}) => fetch(base + path, { redirect: 'manual', ...init });

describe('the console', () => {
  it('is a page that runs and loads only files of this service', async () => {
    const response = await load('/console/');
    expect(await response.text()).toContain('console');
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('no-cache');
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
  });

  it('redirects to its folder by a relative address', async () => {
    const response = await load('/console?x=1');
    expect([response.status, response.headers.get('location')]).toEqual([308, 'console/']);
  });

  it('sends the compressed file to a browser that takes it, to be cached for a year', async () => {
    const response = await load('/console/assets/index-1.js', { headers: { 'accept-encoding': 'gzip, br' } });
    expect(response.headers.get('content-encoding')).toBe('br');
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(await response.text()).toBe('run()');
  });

  it('sends the plain file to a client that takes no compression', async () => {
    const response = await load('/console/assets/index-1.js', { headers: { 'accept-encoding': 'identity' } });
    expect(response.headers.get('content-encoding')).toBeNull();
    expect(await response.text()).toBe('run()');
  });

  it.each([
    '/console/..%2fsecret.js',
    '/console/%2e%2e/secret.js',
    '/console/assets/none.js',
    '/console/assets',
  ])('has nothing at %s', async (path) => {
    expect((await load(path)).status).toBe(404);
  });

  it('refuses to be written to', async () => {
    expect((await load('/console/', { method: 'POST' })).status).toBe(404);
  });

  it('is absent when it was not built', async () => {
    expect(await consoleServer(join(folder, 'missing')).isOn()).toBe(false);
    expect(await consoleServer(join(folder, 'built')).isOn()).toBe(true);
  });
});

import type { RequestListener } from 'node:http';

export declare function createAgent(options: { dataDir: string; token?: string }): RequestListener;

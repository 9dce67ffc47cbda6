import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { codeBlocksOf, readDocument } from '../support/documents.ts';
import { repositoryRoot } from '../support/repository.ts';
import { dockerJson, run } from './command.ts';
import { type Certificate, makeCertificate } from './host-gateway.ts';

const IMAGE = 'wa2ai-test';
/** Not 127.0.0.1, where another wa2ai on this machine may listen. */
const PUBLISH_ADDRESS = process.platform === 'linux' ? '127.0.0.2' : '127.0.0.1';
const BUILD_LIMIT_MS = 1_200_000;

/** The services of docker-compose.yml that run wa2ai, with the ports they are published on. */
export const NODES: Record<string, number> = { wa2ai: 3000, 'wa2ai-2': 3001, 'wa2ai-3': 3002 };

/** What the tests read of `docker inspect`. */
export interface Inspected {
  State: { Status: string; ExitCode: number; Health?: { Status: string } };
  HostConfig: { Memory: number; PidsLimit: number };
}

/** The block of the pages for operators that contains a text. */
export function documented(text: string): string {
  const blocks = ['docs/deployment.md', 'docs/operations.md'].flatMap((page) =>
    codeBlocksOf(readDocument(page)),
  );
  const block = blocks.find(({ code }) => code.includes(text));
  if (!block) throw new Error(`no page for operators has a block with "${text}"`);
  return block.code;
}

/** docker-compose.yml with a project name, an image name and, made by the documented commands, secrets. */
export class Composed {
  readonly folder: string;
  readonly certificate: Certificate;
  readonly #compose: readonly [string, ...string[]];
  readonly #project = `wa2ai-test-${process.pid}`;

  private constructor(folder: string, certificate: Certificate, compose: readonly [string, ...string[]]) {
    this.folder = folder;
    this.certificate = certificate;
    this.#compose = compose;
  }

  get apiKey(): string {
    return this.#secret('api_key');
  }

  get password(): string {
    return this.#secret('postgres_password');
  }

  get dataKey(): string {
    return this.#secret('data_key');
  }

  #secret(name: string): string {
    return readFileSync(join(this.folder, 'secrets', name), 'utf8').trim();
  }

  /** @throws when there is no Docker engine, no Compose or no openssl */
  static async prepare(): Promise<Composed> {
    await run('docker', ['version']);
    const folder = mkdtempSync(join(tmpdir(), 'wa2ai-docker-test-'));
    const secrets = documented('openssl rand').replace(/^docker .*$/m, '');
    await run('sh', ['-e', '-c', `umask 022\ncd '${folder}'\n${secrets}`]);
    return new Composed(folder, await makeCertificate(folder), await composeCommand());
  }

  /** Writes the differences of the test: the WhatsApp address and unused names. */
  configure(whatsappWsUrl: string): void {
    const services = Object.keys(NODES).map((name) => [
      name,
      {
        image: IMAGE,
        build: { context: repositoryRoot },
        environment: {
          WA2AI_WHATSAPP_WS_URL: whatsappWsUrl,
          NODE_EXTRA_CA_CERTS: '/certificate.pem',
          WA2AI_LOG_LEVEL: 'debug',
        },
        volumes: [`${this.certificate.file}:/certificate.pem:ro`],
      },
    ]);
    // JSON is YAML
    writeFileSync(
      join(this.folder, 'override.yml'),
      JSON.stringify({ services: Object.fromEntries(services) }),
    );
  }

  /** Runs Compose with the profile of three nodes. */
  compose(...args: string[]): Promise<string> {
    const [program, ...first] = this.#command();
    return run(program, [...first, ...args], this.#options());
  }

  /** Runs commands of the documentation; their `docker compose` is that of the test. */
  shell(script: string): Promise<string> {
    const compose = this.#command()
      .map((argument) => `'${argument}'`)
      .join(' ');
    const lines = [`cd '${this.folder}'`, `docker() { shift; command ${compose} "$@"; }`, script];
    return run('sh', ['-e', '-c', lines.join('\n')], this.#options());
  }

  #command(): [string, ...string[]] {
    const files = [join(repositoryRoot, 'docker-compose.yml'), join(this.folder, 'override.yml')];
    return [
      ...this.#compose,
      ...files.flatMap((file) => ['-f', file]),
      ...['--project-directory', this.folder, '-p', this.#project, '--profile', 'nodes'],
    ];
  }

  #options() {
    return {
      env: { PUBLISH_ADDRESS, DOCKER_BUILDKIT: process.env.DOCKER_BUILDKIT ?? '1' },
      limitMs: BUILD_LIMIT_MS,
    };
  }

  /** Id of the container of a service. */
  container(service: string): Promise<string> {
    return this.compose('ps', '-q', '-a', service);
  }

  async inspect(service: string): Promise<Inspected> {
    const [found] = await dockerJson<Inspected[]>('inspect', await this.container(service));
    if (!found) throw new Error(`no container of ${service}`);
    return found;
  }

  /** Everything that the container of a service logged. */
  async logs(service: string): Promise<string> {
    return run('docker', ['logs', await this.container(service)], { withStderr: true });
  }

  /** What the containers logged since a time in milliseconds since 1970, each under the name of its service. */
  async logsSince(sinceMs: number): Promise<string> {
    const since = new Date(sinceMs).toISOString();
    const sections = [...Object.keys(NODES), 'postgres'].map(async (service) => {
      const id = await this.container(service);
      const text = id ? await run('docker', ['logs', '--since', since, id], { withStderr: true }) : '';
      return `--- ${service}\n${text}`;
    });
    return (await Promise.all(sections)).join('\n');
  }

  /** Runs a command in a service's container, as its own user. */
  async exec(service: string, ...command: string[]): Promise<string> {
    return run('docker', ['exec', await this.container(service), ...command]);
  }

  /** Runs an SQL query and gives its rows, one a line, fields separated by `|`. */
  async sql(query: string): Promise<string[]> {
    const psql =
      'PGPASSWORD=$(cat /run/secrets/postgres_password) psql -h 127.0.0.1 -U wa2ai -d wa2ai -Atc "$0"';
    return (await this.exec('postgres', 'sh', '-c', psql, query)).split('\n');
  }

  /** Calls the REST API of a node through its published port. */
  async api(
    service: string,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: Record<string, unknown> & { data?: unknown } }> {
    const response = await fetch(`http://${PUBLISH_ADDRESS}:${NODES[service]}${path}`, {
      method,
      headers: {
        'x-api-key': this.apiKey,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  /** The account as a node shows it. */
  async account(service: string): Promise<Record<string, unknown>> {
    return (await this.api(service, 'GET', '/api/accounts/default')).body.data as Record<string, unknown>;
  }

  /** Name of the image under test. */
  get image(): string {
    return IMAGE;
  }

  /** Removes containers, volumes, network, image and the folder. */
  async remove(): Promise<void> {
    await this.compose('down', '-v', '--remove-orphans');
    await run('docker', ['image', 'rm', IMAGE]);
    rmSync(this.folder, { recursive: true });
  }
}

/** Compose is a part of Docker, or a separate program with older versions. */
async function composeCommand(): Promise<readonly [string, ...string[]]> {
  try {
    await run('docker', ['compose', 'version']);
    return ['docker', 'compose'];
  } catch {
    await run('docker-compose', ['version']);
    return ['docker-compose'];
  }
}

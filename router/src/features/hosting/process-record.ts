import { execFile } from 'node:child_process';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

/** A process that wa2ai started, as its file says. A process id alone may belong to another program meanwhile. */
const recordSchema = z.object({
  agentId: z.string(),
  hostId: z.string(),
  specHash: z.string(),
  /** Absent: it never ran. */
  pid: z.number().optional(),
  /** When the process began, as the system says. */
  startedAt: z.string().optional(),
  port: z.number().optional(),
  exitCode: z.number().optional(),
});

export type ProcessRecord = z.output<typeof recordSchema>;

/** The files about processes of agents, one for each: written to a temporary file and renamed, so each is whole. */
export class ProcessRecords {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async write(record: ProcessRecord): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const path = this.#pathOf(record.agentId);
    const file = await open(`${path}.new`, 'w', 0o600);
    try {
      await file.writeFile(JSON.stringify(record));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${path}.new`, path);
  }

  /** Undefined: there is none, or it is damaged. */
  async read(agentId: string): Promise<ProcessRecord | undefined> {
    try {
      const parsed = recordSchema.safeParse(JSON.parse(await readFile(this.#pathOf(agentId), 'utf8')));
      return parsed.data;
    } catch {
      return undefined;
    }
  }

  async all(): Promise<ProcessRecord[]> {
    const names = await readdir(this.#folder).catch(() => []);
    const ids = names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length));
    const records = await Promise.all(ids.sort().map((agentId) => this.read(agentId)));
    return records.filter((record) => record !== undefined);
  }

  async remove(agentId: string): Promise<void> {
    await rm(this.#pathOf(agentId), { force: true });
  }

  #pathOf(agentId: string): string {
    return join(this.#folder, `${agentId}.json`);
  }
}

/** When the process with this id began, in a form that is only compared; undefined when it does not run. */
export async function startTimeOf(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    try {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
      // The name in brackets may contain spaces; the state follows it, and the start time is the 20th field after it.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return fields[0] === 'Z' ? undefined : fields[19];
    } catch {
      return undefined;
    }
  }
  try {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)]);
    return stdout.trim() || undefined;
  } catch {
    return undefined;
  }
}

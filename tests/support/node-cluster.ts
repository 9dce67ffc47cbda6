import { Nodes } from './nodes.ts';
import { TestBed } from './test-bed.ts';
import { Wa2aiProcess } from './wa2ai-process.ts';

/** Several nodes that share one WhatsApp, one database, one agent. `env` is that of all of them. */
export async function startNodeCluster(
  names: readonly string[],
  options: { agent?: string[]; env?: Record<string, string> } = {},
): Promise<{ bed: TestBed; nodes: Nodes }> {
  const bed = await TestBed.start({ agent: options.agent });
  const nodes = new Nodes(bed.emulator, (name) =>
    Wa2aiProcess.start({
      whatsappWsUrl: bed.emulator.url,
      databaseUrl: bed.database.url,
      env: { WA2AI_NODE_ID: name, ...bed.emulator.mediaEnv, ...options.env },
    }),
  );
  await nodes.addAll(names);
  return { bed, nodes };
}

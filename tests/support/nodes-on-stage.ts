import { Nodes } from './nodes.ts';
import { Stage } from './stage.ts';
import { Wa2aiProcess } from './wa2ai-process.ts';

/** Nodes on a stage of their own: one WhatsApp, one database, one agent. `env` is that of all of them. */
export async function nodesOnStage(
  names: readonly string[],
  options: { agent?: string[]; env?: Record<string, string> } = {},
): Promise<{ stage: Stage; nodes: Nodes }> {
  const stage = await Stage.set({ agent: options.agent });
  const nodes = new Nodes(stage.emulator, (name) =>
    Wa2aiProcess.start({
      whatsappWsUrl: stage.emulator.url,
      databaseUrl: stage.database.url,
      env: { WA2AI_NODE_ID: name, ...stage.emulator.mediaEnv, ...options.env },
    }),
  );
  await nodes.addAll(names);
  return { stage, nodes };
}

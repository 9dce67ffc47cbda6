import { writeFileSync } from 'node:fs';
import { MemoryContainerEngine } from '../../doubles/memory-container-engine.ts';
import { containerEngineSuite } from '../../support/container-engine-suite.ts';

containerEngineSuite('the double', () => {
  const engine = new MemoryContainerEngine();
  engine.images.set('agent-base:test', {
    id: 'image-1',
    program: ({ command, env, hostPath, print, exit }) => {
      if (command[0] === 'fail') {
        exit(3);
        return undefined;
      }
      print('started');
      print('to stderr', 'stderr');
      writeFileSync(hostPath('/data/seen') ?? '', env.WORD ?? '');
      return (_, response) => response.end(env.WORD);
    },
  });
  return { engine, image: 'agent-base:test', server: ['serve'], failure: ['fail'] };
});

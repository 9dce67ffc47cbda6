import { DockerEngine } from '../../router/src/features/hosting/docker-engine.ts';
import { containerEngineSuite } from '../support/container-engine-suite.ts';
import { engineUnderTest } from './engine-under-test.ts';

const SERVER = `
const fs = require('node:fs');
console.log('started');
console.error('to stderr');
fs.writeFileSync('/data/seen', process.env.WORD);
require('node:http').createServer((_, response) => response.end(process.env.WORD)).listen(8080, '0.0.0.0');
`;

const { kind, address } = engineUnderTest();

containerEngineSuite(kind, () => ({
  engine: new DockerEngine({ address }),
  image: 'agent-base:test',
  server: ['node', '-e', SERVER],
  failure: ['node', '-e', 'process.exit(3)'],
}));

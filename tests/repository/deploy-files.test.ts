import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { KNOWN_VARIABLES } from '../../router/src/config/config.ts';
import { type HttpApi, pathMatches, startHttpApi } from '../support/http-api.ts';
import { repositoryRoot } from '../support/repository.ts';

const read = (path: string) => readFileSync(join(repositoryRoot, path), 'utf8');

const KUBERNETES = 'deploy/kubernetes';
const manifests = readdirSync(join(repositoryRoot, KUBERNETES)).filter(
  (name) => name !== 'kustomization.yaml',
);

const probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) });
const mount = z.object({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().optional() });
const statefulSetSchema = z.object({
  kind: z.literal('StatefulSet'),
  spec: z.object({
    replicas: z.number(),
    serviceName: z.string(),
    template: z.object({
      spec: z.object({
        automountServiceAccountToken: z.literal(false),
        securityContext: z.object({
          runAsNonRoot: z.literal(true),
          runAsUser: z.number().min(1),
          seccompProfile: z.object({ type: z.literal('RuntimeDefault') }),
        }),
        containers: z
          .array(
            z.object({
              image: z.string(),
              ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
              env: z.array(
                z.object({
                  name: z.string(),
                  value: z.string().optional(),
                  valueFrom: z.unknown().optional(),
                }),
              ),
              startupProbe: probe,
              livenessProbe: probe,
              readinessProbe: probe,
              resources: z.object({ limits: z.object({ memory: z.string() }) }),
              securityContext: z.object({
                allowPrivilegeEscalation: z.literal(false),
                readOnlyRootFilesystem: z.literal(true),
                capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
              }),
              volumeMounts: z.array(mount),
            }),
          )
          .length(1),
        volumes: z.array(z.object({ name: z.string() })),
      }),
    }),
  }),
});

const documents = manifests.flatMap((name) =>
  parseAllDocuments(read(`${KUBERNETES}/${name}`)).map((document) => document.toJS()),
);
const statefulSet = statefulSetSchema.parse(documents.find(({ kind }) => kind === 'StatefulSet'));
const pod = statefulSet.spec.template.spec;
const [container] = pod.containers;

let api: HttpApi;
beforeAll(async () => {
  api = await startHttpApi();
});
afterAll(() => api.close());

describe('deploy/kubernetes', () => {
  it('lists every manifest, each of them valid YAML with a kind and a name', () => {
    const { resources } = parse(read(`${KUBERNETES}/kustomization.yaml`));
    expect([...resources].sort()).toEqual([...manifests].sort());
    for (const document of documents) {
      expect(document).toMatchObject({
        apiVersion: expect.any(String),
        metadata: { name: expect.any(String) },
      });
    }
  });

  it('runs three nodes with a stable name each, as the unprivileged user of the image', () => {
    expect(statefulSet.spec.replicas).toBe(3);
    expect(documents).toContainEqual(
      expect.objectContaining({
        kind: 'Service',
        metadata: { name: statefulSet.spec.serviceName },
        spec: expect.objectContaining({ clusterIP: 'None' }),
      }),
    );
    expect(container?.env).toContainEqual({
      name: 'WA2AI_NODE_ID',
      valueFrom: { fieldRef: { fieldPath: 'metadata.name' } },
    });
    expect(read('Dockerfile')).toMatch(/^USER node$/m);
  });

  it('sets only known settings, and no secret', () => {
    const ofMap = documents.find(({ kind }) => kind === 'ConfigMap').data as Record<string, string>;
    const names = [...Object.keys(ofMap), ...(container?.env ?? []).map(({ name }) => name)];
    expect(KNOWN_VARIABLES).toEqual(expect.arrayContaining(names));
    for (const name of ['WA2AI_API_KEY', 'WA2AI_BACKUP_PASSPHRASE']) expect(names).not.toContain(name);
    expect(new URL(ofMap.DATABASE_URL ?? '').password).toBe('');
    for (const value of Object.values(ofMap)) expect(typeof value).toBe('string');
  });

  it('mounts every file of a setting, and every volume that it names', () => {
    const paths = (container?.volumeMounts ?? []).map(({ mountPath }) => mountPath);
    const files = (container?.env ?? []).filter(({ name }) => name.endsWith('_FILE'));
    expect(files.map(({ name }) => name)).toEqual([
      'WA2AI_API_KEY_FILE',
      'WA2AI_DATA_KEY_FILE',
      'DATABASE_PASSWORD_FILE',
    ]);
    for (const { value = '' } of files) expect(paths.some((path) => value.startsWith(`${path}/`))).toBe(true);
    // The root file system is read-only: the data folder and /tmp are volumes.
    expect(paths).toEqual(
      expect.arrayContaining([/WA2AI_DATA_DIR=(\S+)/.exec(read('Dockerfile'))?.[1], '/tmp']),
    );
    expect(pod.volumes.map(({ name }) => name).sort()).toEqual(
      (container?.volumeMounts ?? []).map(({ name }) => name).sort(),
    );
  });

  it('probes paths of the API, at the port that the image listens on', () => {
    expect(container?.ports).toEqual([{ name: 'http', containerPort: 3000 }]);
    expect(read('Dockerfile')).toMatch(/^EXPOSE 3000$/m);
    for (const kind of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const) {
      const { path, port } = container?.[kind].httpGet ?? { path: '', port: '' };
      expect(port).toBe('http');
      expect(
        api.endpoints.some(({ method, path: known }) => method === 'get' && pathMatches(known, path)),
        path,
      ).toBe(true);
    }
  });

  it('selects its pods by the label that kustomize gives them', () => {
    const { labels } = parse(read(`${KUBERNETES}/kustomization.yaml`));
    const [{ pairs, includeSelectors }] = labels;
    expect([labels.length, includeSelectors]).toEqual([1, true]);
    // kustomize gives a Service and a StatefulSet their selectors, but neither of these.
    const budget = documents.find(({ kind }) => kind === 'PodDisruptionBudget');
    expect(budget.spec).toEqual({ maxUnavailable: 1, selector: { matchLabels: pairs } });
    const [spread] = documents.find(({ kind }) => kind === 'StatefulSet').spec.template.spec
      .topologySpreadConstraints;
    expect(spread.labelSelector).toEqual({ matchLabels: pairs });
  });

  it('passes nothing as an argument, has no secret of its own, and no more than its Services', () => {
    const raw = documents.find(({ kind }) => kind === 'StatefulSet').spec.template.spec.containers[0];
    expect(Object.keys(raw).sort()).toEqual([
      'env',
      'envFrom',
      'image',
      'livenessProbe',
      'name',
      'ports',
      'readinessProbe',
      'resources',
      'securityContext',
      'startupProbe',
      'volumeMounts',
    ]);
    expect(raw.resources.requests).toEqual({ cpu: expect.any(String), memory: expect.any(String) });
    expect(documents.map(({ kind }) => kind).sort()).toEqual([
      'ConfigMap',
      'Namespace',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
      'Service',
      'ServiceAccount',
      'StatefulSet',
    ]);
    const [{ metadata }] = documents.filter(({ kind }) => kind === 'Namespace');
    expect(metadata.labels).toEqual({ 'pod-security.kubernetes.io/enforce': 'restricted' });
  });

  it('lets pods be reached at the port of the API only, and reach no metadata service', () => {
    const { spec } = documents.find(({ kind }) => kind === 'NetworkPolicy');
    expect(spec.policyTypes).toEqual(['Ingress', 'Egress']);
    expect(spec.ingress).toEqual([{ ports: [{ protocol: 'TCP', port: 'http' }] }]);
    expect(parse(read(`${KUBERNETES}/nodes.yaml`)).spec.template.spec.containers[0].ports).toEqual([
      { name: 'http', containerPort: 3000 },
    ]);
    const blocks = spec.egress.flatMap(
      ({ to }: { to: Array<{ ipBlock: { cidr: string; except: string[] } }> }) => to,
    );
    expect(blocks.map(({ ipBlock }: { ipBlock: { cidr: string } }) => ipBlock.cidr)).toEqual([
      '0.0.0.0/0',
      '::/0',
    ]);
    expect(blocks.flatMap(({ ipBlock }: { ipBlock: { except: string[] } }) => ipBlock.except)).toEqual(
      expect.arrayContaining(['169.254.169.254/32', 'fd00:ec2::254/128']),
    );
  });

  it('documents the secret with the files that it mounts', () => {
    const page = read('docs/deployment.md');
    for (const { name, value = '' } of container?.env ?? []) {
      if (name.endsWith('_FILE'))
        expect(page).toMatch(new RegExp(`--from-(file|literal)=${value.split('/').at(-1)}`));
    }
  });
});

describe('deploy/systemd/wa2ai.service', () => {
  const unit = read('deploy/systemd/wa2ai.service');
  const valuesOf = (name: string) =>
    [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);

  it('sets only known settings, and no secret', () => {
    const variables = valuesOf('Environment').flatMap((value) => value.split(' '));
    const names = variables.map((variable) => variable.split('=')[0] ?? '');
    const own = names.filter((name) => name.startsWith('WA2AI_') || name.startsWith('DATABASE_'));
    expect(own).toEqual(['WA2AI_DATA_DIR', 'WA2AI_LOG_FORMAT', 'WA2AI_API_KEY_FILE']);
    expect(KNOWN_VARIABLES).toEqual(expect.arrayContaining(own));
  });

  it('is a unit that systemd understands, with a good rating', () => {
    const analyze = (...args: string[]) =>
      spawnSync('systemd-analyze', [...args, join(repositoryRoot, 'deploy/systemd/wa2ai.service')], {
        encoding: 'utf8',
      });
    // Where there is no systemd, such as on macOS, the other tests of this file remain.
    if (spawnSync('systemd-analyze', ['--version']).status !== 0) {
      expect(unit).toContain('[Service]');
      return;
    }
    const { stderr } = analyze('verify', '--man=no');
    // The machine of the tests has neither wa2ai in /opt nor Node in /usr/bin.
    const wrong = stderr.split('\n').filter((line) => line !== '' && !/is not executable/.test(line));
    expect(wrong).toEqual([]);
    const { stdout } = analyze('security', '--offline=true', '--threshold=20');
    expect(stdout).toMatch(/Overall exposure level for wa2ai\.service: 1\.\d OK/);
  });

  it('starts the program that the build writes, without rights', () => {
    expect(valuesOf('ExecStart')).toEqual([expect.stringMatching(/ dist\/service\/main\.js$/)]);
    expect(read('Dockerfile')).toContain('dist/service/main.js');
    for (const [name, value] of [
      ['User', 'wa2ai'],
      ['NoNewPrivileges', 'yes'],
      ['CapabilityBoundingSet', ''],
      ['ProtectSystem', 'strict'],
      ['ProtectHome', 'yes'],
      ['PrivateTmp', 'yes'],
      ['StateDirectory', 'wa2ai'],
      ['KillMode', 'mixed'],
      ['UMask', '0077'],
    ]) {
      expect(valuesOf(name ?? ''), name).toEqual([value]);
    }
  });

  it('loads a credential for each file of a secret', () => {
    const credentials = valuesOf('LoadCredential').map((value) => value.split(':')[0]);
    const used = [...unit.matchAll(/_FILE=%d\/(\w+)/g)].map(([, name]) => name);
    expect(used).toEqual(credentials);
  });

  it('does not start again after the exit code of a wrong setting', () => {
    expect(valuesOf('RestartPreventExitStatus')).toEqual(['2']);
    expect(read('router/src/main.ts')).toMatch(/ConfigError \? 2 : 1/);
  });
});

import { describe, expect, it } from 'vitest';
import {
  EngineRefusedError,
  EngineUnavailableError,
} from '../../../router/src/core/hosting/hosting-errors.ts';
import {
  engineError,
  failureOf,
  isImageMissing,
  isNameTaken,
  isSubnetTaken,
} from '../../../router/src/features/hosting/docker-engine.ts';

function answer(statusCode: number, message: string): Error {
  return Object.assign(new Error(`(HTTP code ${statusCode}) server error - ${message}`), {
    statusCode,
    json: { message },
  });
}

describe('engine errors', () => {
  it.each([
    ['Docker', answer(409, 'Conflict. The container name "/x" is already in use by container "abc"')],
    ['podman', answer(500, 'creating container storage: the container name "x" is already in use by abc')],
  ])('recognize a taken name of %s', (_, error) => {
    expect(isNameTaken(failureOf(error))).toBe(true);
  });

  it.each([
    ['Docker', answer(404, 'No such image: nothing:1')],
    ['podman', answer(404, 'nothing:1: image not known')],
  ])('recognize a missing image of %s', (_, error) => {
    expect(isImageMissing(failureOf(error))).toBe(true);
    expect(isImageMissing(failureOf(answer(404, 'network wa2ai-x not found')))).toBe(false);
  });

  it.each([
    ['Docker', answer(403, 'Pool overlaps with other one on this address space')],
    ['podman', answer(500, 'subnet 10.213.0.0/28 is already used on the host or by another config')],
  ])('recognize taken addresses of %s', (_, error) => {
    expect(isSubnetTaken(failureOf(error))).toBe(true);
  });

  it('are retried when the engine did not answer', () => {
    const lost = Object.assign(new Error('connect ECONNREFUSED /run/x.sock'), { code: 'ECONNREFUSED' });
    const error = engineError(lost, 'start container x', 'unix:///run/x.sock');
    expect(error).toBeInstanceOf(EngineUnavailableError);
    expect(error.disposition).toBe('retry');
    expect(error.message).toContain('did not start container x: connect ECONNREFUSED /run/x.sock');
  });

  it('are final when the engine refused', () => {
    const error = engineError(
      answer(400, 'OCI runtime create failed:\n no such file'),
      'start container x',
      'unix:///s',
    );
    expect(error).toBeInstanceOf(EngineRefusedError);
    expect(error.disposition).toBe('dead');
    expect(error.message).toBe(
      'The container engine did not start container x: OCI runtime create failed: no such file (status 400).',
    );
  });
});

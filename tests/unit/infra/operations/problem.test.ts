import { describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../../router/src/core/errors.ts';
import { HttpProblem, PROBLEM_CODES, problemOf } from '../../../../router/src/infra/operations/problem.ts';
import { anchorsOf, readDocument } from '../../../support/documents.ts';

describe('problemOf', () => {
  it.each(PROBLEM_CODES)('links %s to its entry in the documentation', (code) => {
    const { body } = problemOf(new HttpProblem(400, code, 'A sentence.'));
    const [path = '', anchor] = body.docs.split('#');
    expect(anchorsOf(readDocument(path))).toContain(anchor);
  });

  it('hides the text of an unexpected error', () => {
    const { status, body } = problemOf(new Error('password of 10.0.0.1 is hunter2'));
    expect(status).toBe(500);
    expect(body.code).toBe('INTERNAL');
    expect(JSON.stringify(body)).not.toContain('hunter2');
  });

  it('asks the caller to retry while the database is unavailable', () => {
    const { status, headers } = problemOf(new StorageUnavailableError('The database does not answer.'));
    expect(status).toBe(503);
    expect(headers).toEqual({ 'retry-after': '5' });
  });
});

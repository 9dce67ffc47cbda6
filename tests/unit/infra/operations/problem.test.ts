import { describe, expect, it } from 'vitest';
import { HttpProblem, PROBLEM_CODES, problemOf } from '../../../../router/src/infra/operations/problem.ts';
import { anchorsOf, readDocument } from '../../../support/documents.ts';

describe('problemOf', () => {
  it.each(PROBLEM_CODES)('links %s to its entry in the documentation', (code) => {
    const { body } = problemOf(new HttpProblem(400, code, { sentence: 'A sentence.' }));
    const [path = '', anchor] = body.docs.split('#');
    expect(anchorsOf(readDocument(path))).toContain(anchor);
  });
});

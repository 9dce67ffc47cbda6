import { describe, expect, it } from 'vitest';
import { PullProgress } from '../../../router/src/features/hosting/docker-engine.ts';

describe('PullProgress', () => {
  it('adds up the layers of an image', () => {
    const progress = new PullProgress();
    expect(progress.shareAfter({ id: 'latest', status: 'Pulling from library/node' })).toBe(0);
    expect(progress.shareAfter({ id: 'a1', status: 'Pulling fs layer' })).toBe(0);
    const half = { id: 'a1', status: 'Downloading', progressDetail: { current: 5, total: 10 } };
    expect(progress.shareAfter(half)).toBe(0.5);
    expect(progress.shareAfter({ id: 'b2', status: 'Already exists' })).toBe(0.75);
    expect(progress.shareAfter({ id: 'a1', status: 'Pull complete' })).toBe(1);
    expect(progress.shareAfter({ status: 'Status: Downloaded newer image' })).toBe(1);
  });

  it('does not go back when a layer is extracted after its download', () => {
    const progress = new PullProgress();
    progress.shareAfter({ id: 'a1', status: 'Download complete' });
    const extracting = { id: 'a1', status: 'Extracting', progressDetail: { current: 1, total: 10 } };
    expect(progress.shareAfter(extracting)).toBe(1);
  });

  it('finds the failure in a line of an answer with status 200', () => {
    const progress = new PullProgress();
    expect(progress.errorIn({ error: ' no such host \n' })).toBe('no such host');
    expect(progress.errorIn({ status: 'Downloading' })).toBeUndefined();
  });
});

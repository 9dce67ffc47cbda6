import { describe, expect, it } from 'vitest';
import { signedHeaders } from '../../../../router/src/infra/media/s3-media-store.ts';

/** The examples of https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */
const keys = {
  region: 'us-east-1',
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
};
const atMs = Date.parse('2013-05-24T00:00:00Z');
const host = 'https://examplebucket.s3.amazonaws.com';

describe('signedHeaders', () => {
  it.each([
    [
      'an object',
      { method: 'GET', url: `${host}/test.txt`, headers: { range: 'bytes=0-9' } },
      'host;range;x-amz-content-sha256;x-amz-date',
      'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    ],
    [
      'a new object',
      {
        method: 'PUT',
        url: `${host}/test$file.text`,
        headers: { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
        body: Buffer.from('Welcome to Amazon S3.'),
      },
      'date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class',
      '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    ],
    [
      'a query without a value',
      { method: 'GET', url: `${host}/?lifecycle` },
      'host;x-amz-content-sha256;x-amz-date',
      'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
    ],
    [
      'a list',
      { method: 'GET', url: `${host}/?max-keys=2&prefix=J` },
      'host;x-amz-content-sha256;x-amz-date',
      '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    ],
  ])('has the published signature of %s', (_, request, names, signature) => {
    expect(signedHeaders(request, keys, atMs)).toMatchObject({
      'x-amz-date': '20130524T000000Z',
      authorization: `AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=${names},Signature=${signature}`,
    });
  });
});

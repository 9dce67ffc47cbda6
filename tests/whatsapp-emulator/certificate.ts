import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/** A self-signed certificate for 127.0.0.1 and a name, and its key, both PEM. For tests: created each time, trusted by nothing else. */
export interface TestCertificate {
  cert: string;
  key: string;
}

/** A name of the media host that no resolver knows: only a proxy leads there. */
export const MEDIA_NAME = 'media.whatsapp.invalid';

const YEAR_MS = 365 * 24 * 60 * 60 * 1000;
const ECDSA_WITH_SHA256 = oid('2a8648ce3d040302');
const COMMON_NAME = oid('550403');
const SUBJECT_ALT_NAME = oid('551d11');
const BASIC_CONSTRAINTS = oid('551d13');

/** Writes X.509 by hand (RFC 5280), because Node makes keys and signatures and no certificates. */
export function makeTestCertificate(
  commonName = 'wa2ai emulated media host, test only',
  hostName = MEDIA_NAME,
): TestCertificate {
  const nowMs = Date.now();
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(set(sequence(COMMON_NAME, tagged(0x0c, Buffer.from(commonName)))));
  const serial = tagged(0x02, Buffer.concat([Buffer.from([0x01]), randomBytes(8)]));
  const address = tagged(0x87, Buffer.from([127, 0, 0, 1]));
  const host = tagged(0x82, Buffer.from(hostName));
  const extensions = sequence(
    sequence(BASIC_CONSTRAINTS, tagged(0x04, sequence(tagged(0x01, Buffer.from([0xff]))))),
    sequence(SUBJECT_ALT_NAME, tagged(0x04, sequence(address, host))),
  );
  const body = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    serial,
    sequence(ECDSA_WITH_SHA256),
    name,
    sequence(time(nowMs - YEAR_MS), time(nowMs + YEAR_MS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, extensions),
  );
  const signature = sign('sha256', body, privateKey);
  const der = sequence(body, sequence(ECDSA_WITH_SHA256), bitString(signature));
  const lines = der.toString('base64').replace(/.{64}/g, '$&\n').trim();
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

function tagged(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag]), lengthOf(content), content]);
}

function lengthOf({ length }: Buffer): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.from(bytes);
}

function sequence(...parts: Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

function set(...parts: Buffer[]): Buffer {
  return tagged(0x31, Buffer.concat(parts));
}

function oid(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, 'hex'));
}

function bitString(bytes: Buffer): Buffer {
  return tagged(0x03, Buffer.concat([Buffer.from([0]), bytes]));
}

/** GeneralizedTime, `YYYYMMDDHHMMSSZ`. */
function time(ms: number): Buffer {
  return tagged(0x18, Buffer.from(`${new Date(ms).toISOString().replace(/\D/g, '').slice(0, 14)}Z`));
}

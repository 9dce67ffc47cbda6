import { PHRASES } from './phrases.ts';

/** The proxy of an account, read from its URL. */
export interface ProxyAddress {
  scheme: 'http' | 'https' | 'socks5';
  /** A name, or an IP address without brackets. */
  host: string;
  port: number;
  /** Absent: the proxy asks for none. */
  login?: { user: string; password: string };
}

const PORTS = { http: 80, https: 443, socks5: 1080 };
/** SOCKS5 has one byte for the length of each (RFC 1929). */
const MAX_LOGIN_BYTES = 255;
const HOST = /^(?:[a-z0-9_.-]{1,253}|\[[0-9a-f:.]{2,45}\])$/i;

/** Reads the URL of a proxy. A refusal is the end of a sentence about the URL, without any part of it. */
export function readProxyUrl(text: string): ProxyAddress | { refusal: string } {
  if (!URL.canParse(text)) return { refusal: PHRASES['field.proxy-not-url'] };
  const { protocol, username, password, hostname, port, pathname, search, hash } = new URL(text);
  const scheme = protocol.slice(0, -1);
  if (scheme !== 'http' && scheme !== 'https' && scheme !== 'socks5') {
    return { refusal: PHRASES['field.proxy-scheme'] };
  }
  if (!HOST.test(hostname)) return { refusal: PHRASES['field.proxy-host'] };
  if (!['', '/'].includes(pathname) || search !== '' || hash !== '') {
    return { refusal: PHRASES['field.proxy-end'] };
  }
  const address = {
    scheme,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? PORTS[scheme] : Number(port),
  } as const;
  if (address.port === 0) return { refusal: PHRASES['field.proxy-port'] };
  if (username === '' && password === '') return address;
  const login = decodedLogin(username, password);
  if (typeof login === 'string') return { refusal: login };
  if (scheme !== 'socks5' && login.user.includes(':')) {
    return { refusal: PHRASES['field.proxy-colon'] };
  }
  return { ...address, login };
}

/** The URL without user name and password, which also show as `***` that there are some. */
export function maskedProxyUrl(url: string): string {
  const read = readProxyUrl(url);
  if ('refusal' in read) return '***';
  const { scheme, host, port, login } = read;
  return `${scheme}://${login ? '***@' : ''}${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function decodedLogin(username: string, secret: string): { user: string; password: string } | string {
  let login: { user: string; password: string };
  try {
    login = { user: decodeURIComponent(username), password: decodeURIComponent(secret) };
  } catch {
    return PHRASES['field.proxy-percent'];
  }
  if (login.user === '') return PHRASES['field.proxy-password-alone'];
  if (/\p{Cc}/u.test(login.user + login.password)) return PHRASES['field.proxy-control-character'];
  if (Object.values(login).some((text) => Buffer.byteLength(text) > MAX_LOGIN_BYTES)) {
    return PHRASES['field.proxy-login-bytes'];
  }
  return login;
}

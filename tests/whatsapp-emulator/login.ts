import { randomBytes } from 'node:crypto';
import type { proto } from '@whiskeysockets/baileys';
import type { Connection } from './connection.ts';
import type { Device } from './device.ts';
import type { EmulatorContext } from './emulator-context.ts';
import { streamError } from './faults.ts';
import { node, SERVER, seconds } from './nodes.ts';

const NOT_LINKED = 401;

/**
 * Logs a linked device in by its Noise key, or rejects the client with `<failure reason>`. A device that is online
 * already loses its older connection as replaced.
 * @returns the device, or `undefined` when the connection was ended
 */
export function logIn(
  context: EmulatorContext,
  connection: Connection,
  noiseKey: string,
  payload: proto.ClientPayload,
): Device | undefined {
  const { directory, faults, events } = context;
  if (faults.take('failedLogins')) return refuse(connection, faults.failureReason);
  const device = directory.deviceByNoiseKey(noiseKey);
  const isNamed =
    device?.pn.startsWith(`${payload.username}:`) && Number(payload.device ?? 0) === device.number;
  if (!device || !isNamed) return refuse(connection, NOT_LINKED);
  device.connection?.sendAndClose(streamError(440), 'replaced');
  device.connection = connection;
  device.isLive = false;
  connection.delayMs = faults.delayMs;
  connection.send(
    node('success', {
      t: seconds(Date.now()),
      lid: device.lid,
      display_name: device.phone.pushName,
      location: 'emu',
      props: '30',
    }),
  );
  connection.send(
    node('ib', { from: SERVER }, [
      node('edge_routing', {}, [node('routing_info', {}, Buffer.from([8, 8, 8, 5]))]),
    ]),
  );
  connection.send(
    node('ib', { from: SERVER }, [node('dirty', { type: 'account_sync', timestamp: seconds(Date.now()) })]),
  );
  events.emit('logged-in', { device: device.pn });
  return device;
}

/** Refs for QR codes, as opaque as WhatsApp's. */
export function mintRef(): string {
  return `2@${randomBytes(66).toString('base64')}`;
}

/** Ends a connection with `<failure reason>`. */
export function refuse(connection: Connection, reason: number): undefined {
  connection.sendAndClose(
    node('failure', { reason: `${reason}`, location: 'emu' }),
    `refused with ${reason}`,
  );
  return undefined;
}

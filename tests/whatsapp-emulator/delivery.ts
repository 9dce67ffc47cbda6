import type { BinaryNode } from '@whiskeysockets/baileys';
import type { Device } from './device.ts';
import type { EmulatorContext } from './emulator-context.ts';
import { corrupted } from './faults.ts';
import { node, SERVER, seconds } from './nodes.ts';

/**
 * Keeps a stanza for a device and sends it when the device is live. Unacknowledged stanzas are sent again at the next
 * login, in the order of the first delivery.
 */
export function deliver(context: EmulatorContext, device: Device, stanza: BinaryNode): void {
  device.mailbox.put(stanza);
  if (device.isLive) transmit(context, device, stanza);
}

/** Sends the waiting stanzas, marked offline, then the end of the offline batch; from then on the device is live. */
export function flushOffline(context: EmulatorContext, device: Device): void {
  const waiting = device.mailbox.offline();
  for (const stanza of waiting) transmit(context, device, stanza);
  device.isLive = true;
  if (!context.faults.isOfflineEndless) {
    device.connection?.send(node('ib', { from: SERVER }, [node('offline', { count: `${waiting.length}` })]));
  }
  context.events.emit('live', { device: device.pn, offlineCount: waiting.length });
}

/** Begins the offline batch: announces the waiting stanzas, or ends the batch at once when there are none. */
export function announceOffline(context: EmulatorContext, device: Device): void {
  const { mailbox, connection } = device;
  if (mailbox.size === 0) {
    flushOffline(context, device);
    return;
  }
  const preview = node('offline_preview', {
    count: `${mailbox.size}`,
    message: `${mailbox.count('message')}`,
    receipt: `${mailbox.count('receipt')}`,
    notification: `${mailbox.count('notification')}`,
    appdata: '0',
    call: '0',
    t: seconds(Date.now()),
  });
  connection?.send(node('ib', { from: SERVER }, [preview]));
}

function transmit(context: EmulatorContext, device: Device, stanza: BinaryNode): void {
  const { faults } = context;
  const isMessage = stanza.tag === 'message';
  const sent = isMessage && faults.take('corruptions') ? corrupted(stanza) : stanza;
  device.connection?.send(sent);
  if (isMessage && faults.take('duplicates')) device.connection?.send(sent);
}

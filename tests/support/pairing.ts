import type { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import type { Phone } from '../whatsapp-emulator/phone.ts';
import type { Wa2aiProcess } from './wa2ai-process.ts';

interface QrStatus {
  state: string;
  qr?: string;
  pairingCode?: string;
}

/** The account's state as the pairing page reads it. */
export async function qrStatus(service: Wa2aiProcess): Promise<QrStatus> {
  const response = await fetch(`${service.url}/qr/status`);
  return (await response.json()) as QrStatus;
}

/** Waits until the account has the given state, by the service's log; `since` counts lines from that index on. */
export async function untilState(service: Wa2aiProcess, state: string, timeoutMs = 30_000): Promise<void> {
  if ((await qrStatus(service)).state === state) return;
  const from = service.lines.length;
  const isState = (line: { msg: string; state?: unknown }) =>
    line.msg === 'account state' && line.state === state;
  const past = service.lines.slice(from).some(isState);
  if (past) return;
  await service.untilLog((line) => service.lines.indexOf(line) >= from && isState(line), timeoutMs);
}

/** Pairs the service by QR with the phone and waits until the account is open. */
export async function pairByQr(
  service: Wa2aiProcess,
  phone: Phone,
  emulator: WhatsAppEmulator,
): Promise<void> {
  const isOpen = service.untilLog((line) => line.msg === 'account state' && line.state === 'open', 30_000);
  let status = await qrStatus(service);
  if (!status.qr) {
    await service.untilLog((line) => line.msg === 'account state' && line.state === 'pairing');
    status = await qrStatus(service);
  }
  if (!status.qr) throw new Error(`no QR code in state ${status.state}`);
  const live = emulator.waitFor('live', undefined, 30_000);
  await phone.scan(status.qr);
  await Promise.all([isOpen, live]);
}

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

const isAccountState = (line: { msg: string }) => line.msg === 'account state';

/** Waits until the account's status, read again after each change, fits. */
export async function untilStatus(
  service: Wa2aiProcess,
  fits: (status: QrStatus) => boolean,
  timeoutMs = 60_000,
): Promise<QrStatus> {
  for (;;) {
    const from = service.lines.length;
    const status = await qrStatus(service);
    if (fits(status)) return status;
    await service.untilLog(isAccountState, timeoutMs, from);
  }
}

/** Waits until the account has the given state. */
export async function untilState(service: Wa2aiProcess, state: string, timeoutMs = 60_000): Promise<void> {
  await untilStatus(service, (status) => status.state === state, timeoutMs);
}

/** Pairs the service by QR with the phone, and waits until the account is open and has everything that waited. */
export async function pairByQr(
  service: Wa2aiProcess,
  phone: Phone,
  emulator: WhatsAppEmulator,
): Promise<void> {
  const { qr } = await untilStatus(service, (status) => status.qr !== undefined);
  const live = emulator.waitFor('live', undefined, 60_000);
  await Promise.all([phone.scan(qr as string), live]);
  await untilState(service, 'open');
}

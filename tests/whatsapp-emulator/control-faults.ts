import type { FaultRequest } from './control-requests.ts';
import type { WhatsAppEmulator } from './emulator.ts';

/** Applies a fault: at once for connections, else by setting a counter that decreases with each use. */
export function applyFault(emulator: WhatsAppEmulator, fault: FaultRequest): void {
  const { faults } = emulator;
  switch (fault.kind) {
    case 'drop':
      emulator.drop(fault.device);
      return;
    case 'silence':
      emulator.silence(fault.device);
      return;
    case 'end-stream':
      emulator.endStream(fault.code, fault.device);
      return;
    case 'slow':
      emulator.slowDown(fault.delayMs);
      return;
    case 'clear':
      faults.clear();
      emulator.slowDown(0);
      return;
    case 'refuse-upgrades':
      Object.assign(faults, { refusedUpgrades: fault.count, refusalStatus: fault.status });
      return;
    case 'fail-logins':
      Object.assign(faults, { failedLogins: fault.count, failureReason: fault.reason });
      return;
    case 'withhold-acks':
      Object.assign(faults, { withheldAcks: fault.count, isWithheldLost: fault.isLost });
      return;
    case 'refuse-messages':
      Object.assign(faults, { refusedMessages: fault.count, refusalCode: fault.code });
      return;
    case 'refuse-contacts':
      faults.refusedContacts = new Set(fault.phones);
      return;
    case 'lock-new-contacts':
      emulator.lockNewContacts(fault.forMs);
      return;
    case 'count-new-chats':
      emulator.countNewChats(fault.used, fault.quota, fault.forMs);
      return;
    case 'duplicate':
      faults.duplicates = fault.count;
      return;
    case 'corrupt':
      faults.corruptions = fault.count;
      return;
    case 'endless-offline':
      faults.isOfflineEndless = fault.isOn;
      return;
    case 'refuse-versions':
      faults.refusedBelow = fault.below;
      return;
    case 'current-version':
      emulator.versionPage.revision = fault.revision;
      return;
    case 'ignore-look-ups':
      faults.isIgnoringLookUps = fault.isOn;
      return;
    case 'ignore-pings':
      faults.isIgnoringPings = fault.isOn;
  }
}

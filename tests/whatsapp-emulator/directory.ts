import type { Actor, GroupInfo, PhoneActor } from './actors.ts';
import type { Device } from './device.ts';
import { EmulatorError } from './emulator-error.ts';
import { deviceOf, userJid } from './nodes.ts';

/** All actors, accounts with their linked devices, and groups. Lookups accept either form of an address. */
export class Directory {
  readonly #actors = new Map<string, Actor>();
  readonly #phones = new Set<PhoneActor>();
  readonly #devices = new Map<string, Device>();
  readonly #groups = new Map<string, GroupInfo>();
  #lastDevice = 0;

  addActor(actor: Actor): void {
    for (const jid of [actor.pn, actor.lid]) {
      const known = this.#actors.get(jid);
      if (known && known !== actor) throw new EmulatorError(`${jid} exists already`);
    }
    this.#actors.set(actor.pn, actor);
    this.#actors.set(actor.lid, actor);
  }

  addPhone(phone: PhoneActor): void {
    this.addActor(phone);
    this.#phones.add(phone);
  }

  addGroup(group: GroupInfo): void {
    this.#groups.set(group.jid, group);
  }

  actor(jid: string): Actor | undefined {
    return this.#actors.get(userJid(jid));
  }

  phone(jid: string): PhoneActor | undefined {
    const actor = this.actor(jid);
    return [...this.#phones].find((phone) => phone === actor);
  }

  group(jid: string): GroupInfo | undefined {
    return this.#groups.get(jid);
  }

  /** The groups a user is a member of. */
  groupsOf(jid: string): GroupInfo[] {
    const user = userJid(jid);
    return [...this.#groups.values()].filter((group) =>
      group.members.some((member) => member.pn === user || member.lid === user),
    );
  }

  /** A number for the next linked device; never used twice, as on WhatsApp. */
  nextDeviceNumber(): number {
    this.#lastDevice = (this.#lastDevice % 90) + 1;
    return this.#lastDevice;
  }

  addDevice(device: Device): void {
    this.#devices.set(device.noiseKey, device);
  }

  removeDevice(device: Device): void {
    this.#devices.delete(device.noiseKey);
  }

  deviceByNoiseKey(noiseKey: string): Device | undefined {
    return this.#devices.get(noiseKey);
  }

  device(jid: string): Device | undefined {
    const number = deviceOf(jid);
    return this.devicesOf(jid).find((device) => device.number === number);
  }

  /** The linked devices of an account, oldest first. */
  devicesOf(jid: string): Device[] {
    const user = userJid(jid);
    return [...this.#devices.values()].filter(({ phone }) => phone.pn === user || phone.lid === user);
  }

  devices(): Device[] {
    return [...this.#devices.values()];
  }
}

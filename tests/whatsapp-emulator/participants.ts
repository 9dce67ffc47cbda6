import type { GroupInfo, ServerSide } from './actors.ts';
import { EmulatorError } from './emulator-error.ts';
import { createGroup, type GroupOptions } from './group.ts';
import { createPerson, type Person } from './person.ts';
import type { PersonOptions } from './person-model.ts';
import { createPhone, type Phone } from './phone.ts';

/** The phones of accounts, the people and the groups, by phone number (digits). */
export class Participants {
  readonly #server: ServerSide;
  readonly #phones = new Map<string, Phone>();
  readonly #people = new Map<string, Person>();
  readonly #groups = new Map<string, GroupInfo>();

  constructor(server: ServerSide) {
    this.#server = server;
  }

  get phones(): Phone[] {
    return [...this.#phones.values()];
  }

  get people(): Person[] {
    return [...this.#people.values()];
  }

  get groups(): GroupInfo[] {
    return [...this.#groups.values()];
  }

  /** The phone of an account; created when there is none with that number. */
  phone(number: string): Phone {
    const known = this.#phones.get(number);
    if (known) return known;
    const phone = createPhone(this.#server, { phone: number });
    this.#phones.set(number, phone);
    return phone;
  }

  /** @throws {EmulatorError} when the number is taken */
  addPerson(options: PersonOptions): Person {
    const person = createPerson(this.#server, options);
    this.#people.set(options.phone, person);
    return person;
  }

  /** @throws {EmulatorError} when the number is unknown */
  person(number: string): Person {
    const person = this.#people.get(number);
    if (!person) throw new EmulatorError(`there is no person ${number}`);
    return person;
  }

  /** @param members phone numbers of people and accounts; @throws {EmulatorError} when one of them is unknown */
  addGroup(options: Omit<GroupOptions, 'members'> & { members: readonly string[] }): GroupInfo {
    const members = options.members.map((number) => this.#phones.get(number) ?? this.person(number));
    const group = createGroup(this.#server, { ...options, members });
    this.#groups.set(group.jid, group);
    return group;
  }

  /** The chat of a `to` field: a group's JID, or an account. */
  recipient(to: string): string {
    if (to.endsWith('@g.us')) return to;
    const number = digitsOf(to);
    const phone = this.#phones.get(number) ?? this.phones.find(({ lid }) => lid === `${number}@lid`);
    if (!phone) throw new EmulatorError(`there is no account ${number}`);
    return phone.pn;
  }
}

/** The digits of a phone number in any spelling: `+34 600 000 001`, `34600000001@s.whatsapp.net`. */
export function digitsOf(address: string): string {
  return address.replace(/[:@].*$/, '').replace(/\D/g, '');
}

import { randomInt } from 'node:crypto';

/** What the caller did wrong: answered with this status and text. */
export class CallerMistake extends Error {
  constructor(message, status = 400) {
    super(message);
    this.status = status;
  }
}

/** Lengths in millimetres. */
const UNITS = { mm: 1n, cm: 10n, m: 1_000n, km: 1_000_000n };

function unit(name) {
  const size = UNITS[name.trim().toLowerCase()];
  if (size === undefined) throw new CallerMistake(`The units are ${Object.keys(UNITS).join(', ')}`);
  return size;
}

/** What the agent can do: a signature, and a function of the arguments. Whole numbers come as bigint. */
export const functions = {
  'function hello(string name) returns (string answer)': (name) =>
    `Hello ${name}! Try /roll 2 6, /convert 3 km m or /total.`,

  'function roll(uint8 dice, uint16 sides) returns (uint16[] rolls, uint256 total)': (dice, sides) => {
    if (dice < 1 || dice > 20 || sides < 1) throw new CallerMistake('Roll 1 to 20 dice of at least one side');
    const rolls = Array.from({ length: dice }, () => randomInt(1, sides + 1));
    return [rolls, BigInt(rolls.reduce((sum, value) => sum + value, 0))];
  },

  'function convert(uint256 amount, string from, string to) returns (string answer)': (amount, from, to) => {
    const millimetres = amount * unit(from);
    const rest = millimetres % unit(to);
    return `${amount} ${from} = ${rest === 0n ? '' : 'about '}${millimetres / unit(to)} ${to}`;
  },

  'function total((string item, uint256 price)[] bill) returns (uint256 sum, uint256 items)': (bill) => [
    bill.reduce((sum, { price }) => sum + price, 0n),
    BigInt(bill.length),
  ],
};

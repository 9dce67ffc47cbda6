import { type Abi, createPublicClient, createWalletClient, type Hex, http } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { EvmChain } from '../doubles/evm-chain.ts';
import { contract } from './contracts.ts';

/** A chain with the contracts of the specification, and a wallet that has tokens and has allowed both to spend them. */
export interface NpcChainBed {
  chain: EvmChain;
  key: Hex;
  wallet: Hex;
  token: Hex;
  arena: Hex;
  quest: Hex;
  /** Another person's address. */
  opponent: Hex;
  read(
    name: 'Arena' | 'Quest' | 'Token',
    address: Hex,
    functionName: string,
    args?: unknown[],
  ): Promise<unknown>;
  /** As the owner of the contracts, or with another key. The transaction is in a block afterwards. */
  write(
    name: 'Arena' | 'Quest' | 'Token',
    address: Hex,
    functionName: string,
    args: unknown[],
    key?: Hex,
  ): Promise<Hex>;
}

export const TOKENS = 1_000n;

const FIRST_CHAIN_ID = 31_337;

interface Deployed {
  chain: EvmChain;
  owner: Hex;
  key: Hex;
  token: Hex;
  arena: Hex;
  quest: Hex;
}

/** The chain that those of this process are copies of: deploying the contracts takes longer than most tests. */
let first: Promise<Deployed> | undefined;
let copies = 0;

export async function npcChainBed(): Promise<NpcChainBed> {
  first ??= deploy();
  const { chain: original, owner, key, token, arena, quest } = await first;
  copies += 1;
  const chain = await original.copy(FIRST_CHAIN_ID + copies);
  const { read, write } = access(chain, owner);
  const wallet = privateKeyToAccount(key).address.toLowerCase() as Hex;
  const opponent = privateKeyToAccount(owner).address.toLowerCase() as Hex;
  return { chain, key, wallet, token, arena, quest, opponent, read, write };
}

async function deploy(): Promise<Deployed> {
  const chain = await EvmChain.start(FIRST_CHAIN_ID);
  const owner = generatePrivateKey();
  const key = generatePrivateKey();
  const wallet = privateKeyToAccount(key).address;
  await chain.fund(privateKeyToAccount(owner).address);
  await chain.fund(wallet);
  const { create, write } = access(chain, owner);
  const token = await create('Token');
  const arena = await create('Arena');
  const quest = await create('Quest');
  await write('Token', token, 'mint', [wallet, TOKENS]);
  await write('Token', token, 'approve', [arena, TOKENS], key);
  await write('Token', token, 'approve', [quest, TOKENS], key);
  await chain.close();
  return { chain, owner, key, token, arena, quest };
}

function access(chain: EvmChain, owner: Hex) {
  const definition = {
    id: chain.chainId,
    name: 'test',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [chain.url] } },
  };
  const options = { chain: definition, transport: http(chain.url), pollingInterval: 5, cacheTime: 0 };
  const reader = createPublicClient(options);
  const clientOf = (key: Hex) => createWalletClient({ ...options, account: privateKeyToAccount(key) });
  const mined = async (hash: Hex) => {
    if (!chain.isMining) await chain.mine();
    return await reader.waitForTransactionReceipt({ hash });
  };
  const create = async (name: 'Arena' | 'Quest' | 'Token') => {
    const { abi, bytecode } = contract(name);
    const { contractAddress } = await mined(await clientOf(owner).deployContract({ abi, bytecode }));
    return contractAddress?.toLowerCase() as Hex;
  };
  const write: NpcChainBed['write'] = async (name, address, functionName, args, by = owner) => {
    const { abi } = contract(name) as { abi: Abi };
    const hash = await clientOf(by).writeContract({ abi, address, functionName, args });
    await mined(hash);
    return hash;
  };
  const read: NpcChainBed['read'] = (name, address, functionName, args = []) =>
    reader.readContract({ abi: contract(name).abi, address, functionName, args });
  return { create, read, write };
}

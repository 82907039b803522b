import { type Address, domainSeparator, type Hex, parseSignature, type TypedDataDomain } from "viem";
import { getBytecode, readContract, signTypedData } from "wagmi/actions";
import { testStablecoinAbi } from "../../../protocol/generated/abi.ts";
import { walletConfig } from "./config.ts";

const PERMIT_SECONDS = 1_200;

const types = {
  Permit: [
    { name: "owner", type: "address" },
    { name: "spender", type: "address" },
    { name: "value", type: "uint256" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
  ],
} as const;

export type Permit = { deadline: bigint; v: number; r: Hex; s: Hex };
type PermitRequest = { token: Address; owner: Address; spender: Address; value: bigint };

/** Has an EIP-2612 permit signed; null if the token or the wallet's kind of account does not do permits. */
export async function signPermit(request: PermitRequest, onAsk: () => void): Promise<Permit | null> {
  const { token, owner, spender, value } = request;
  // Tokens check permits against ordinary accounts only: a contract wallet's owners are not asked in vain.
  if (await isContract(owner)) return null;
  const domain = await permitDomain(token);
  if (domain === null) return null;
  const nonce = await readContract(walletConfig, {
    address: token,
    abi: testStablecoinAbi,
    functionName: "nonces",
    args: [owner],
  });
  const deadline = BigInt(Math.floor(Date.now() / 1000) + PERMIT_SECONDS);
  const message = { owner, spender, value, nonce, deadline };
  onAsk();
  const signature = await signTypedData(walletConfig, {
    account: owner,
    types,
    primaryType: "Permit",
    domain,
    message,
  });
  // A contract wallet that is not deployed yet has no code, and its signature another form.
  if (signature.length !== 132) return null;
  const { r, s, yParity } = parseSignature(signature);
  return { deadline, v: 27 + yParity, r, s };
}

/** An ordinary account that acts as a contract for a while (EIP-7702) has code too, and signs as it always did. */
async function isContract(account: Address): Promise<boolean> {
  const code = await getBytecode(walletConfig, { address: account });
  return code !== undefined && !code.startsWith("0xef0100");
}

/** The domain a token's permits are signed for: the usual names, held against the separator the token itself tells. */
async function permitDomain(token: Address): Promise<TypedDataDomain | null> {
  const contract = { address: token, abi: testStablecoinAbi } as const;
  let separator: Hex;
  let name: string;
  try {
    separator = await readContract(walletConfig, { ...contract, functionName: "DOMAIN_SEPARATOR" });
    name = await readContract(walletConfig, { ...contract, functionName: "name" });
  } catch {
    // No EIP-2612 token, or the node failed; the approval that follows instead tells which.
    return null;
  }
  const base = { name, chainId: walletConfig.chains[0].id, verifyingContract: token };
  for (const version of ["1", "2"]) {
    const domain = { ...base, version };
    if (domainSeparator({ domain }) === separator) return domain;
  }
  return null;
}

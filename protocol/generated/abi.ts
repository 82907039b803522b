// Generated from the compiled contracts by scripts/build/generate-abi.ts. Do not edit.

export const inferenceEscrowAbi = [
 {
  "inputs": [
   {
    "internalType": "contract IERC20",
    "name": "token_",
    "type": "address"
   },
   {
    "internalType": "contract IModelCatalog",
    "name": "catalog",
    "type": "address"
   },
   {
    "internalType": "contract IWorkerRegistry",
    "name": "registry",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "owner_",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "guardian_",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "treasury_",
    "type": "address"
   },
   {
    "internalType": "uint16",
    "name": "feeBps_",
    "type": "uint16"
   },
   {
    "components": [
     {
      "internalType": "uint32",
      "name": "completion",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "inclusion",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "finalization",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "dispute",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "arbitration",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "equivocation",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "notice",
      "type": "uint32"
     }
    ],
    "internalType": "struct Windows",
    "name": "windows_",
    "type": "tuple"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "constructor"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "feeBps",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "cap",
    "type": "uint256"
   }
  ],
  "name": "Admin_FeeAboveCap",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "Admin_GatewayExists",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "value",
    "type": "address"
   }
  ],
  "name": "Admin_InvalidAddress",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "Admin_InvalidWindows",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "caller",
    "type": "address"
   }
  ],
  "name": "Admin_NotGuardian",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "Admin_TooManyGateways",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "Admin_UnknownGateway",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "Batch_Nested",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "index",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "left",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "required",
    "type": "uint256"
   }
  ],
  "name": "Batch_OutOfGas",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "left",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "required",
    "type": "uint256"
   }
  ],
  "name": "BoundedTransfer_OutOfGas",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "ECDSAInvalidSignature",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "length",
    "type": "uint256"
   }
  ],
  "name": "ECDSAInvalidSignatureLength",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "s",
    "type": "bytes32"
   }
  ],
  "name": "ECDSAInvalidSignatureS",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "InvalidShortString",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "Job_AlreadyExists",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "uint8",
    "name": "attempt",
    "type": "uint8"
   },
   {
    "internalType": "uint8",
    "name": "current",
    "type": "uint8"
   }
  ],
  "name": "Job_AttemptTaken",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "Job_InvalidId",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "validUntil",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "now_",
    "type": "uint256"
   }
  ],
  "name": "Job_LockExpired",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   }
  ],
  "name": "Job_ModelNotActive",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "Job_NotAssigned",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "address",
    "name": "caller",
    "type": "address"
   }
  ],
  "name": "Job_NotItsGateway",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "caller",
    "type": "address"
   }
  ],
  "name": "Job_NotLockingGateway",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "Job_NotTheWorker",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint32",
    "name": "credits",
    "type": "uint32"
   },
   {
    "internalType": "uint32",
    "name": "maxCredits",
    "type": "uint32"
   }
  ],
  "name": "Job_PriceExceedsLimit",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "uint256",
    "name": "notBefore",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "now_",
    "type": "uint256"
   }
  ],
  "name": "Job_TooEarly",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "uint256",
    "name": "deadline",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "now_",
    "type": "uint256"
   }
  ],
  "name": "Job_TooLate",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "worker",
    "type": "address"
   },
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   }
  ],
  "name": "Job_WorkerNotEligible",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "uint8",
    "name": "status",
    "type": "uint8"
   }
  ],
  "name": "Job_WrongState",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "credits",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "minimum",
    "type": "uint256"
   }
  ],
  "name": "Ledger_DepositTooSmall",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "received",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "expected",
    "type": "uint256"
   }
  ],
  "name": "Ledger_InexactTransfer",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "free",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "required",
    "type": "uint256"
   }
  ],
  "name": "Ledger_InsufficientCredits",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   }
  ],
  "name": "Ledger_InvalidReceiver",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "payee",
    "type": "address"
   }
  ],
  "name": "Ledger_NothingToClaim",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "Ledger_Paused",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "payee",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "units",
    "type": "uint256"
   }
  ],
  "name": "Ledger_PayoutRefused",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   }
  ],
  "name": "Ledger_UnknownAccount",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "Ledger_ZeroCredits",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   }
  ],
  "name": "OwnableInvalidOwner",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "OwnableUnauthorizedAccount",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "ReentrancyGuardReentrantCall",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "bits",
    "type": "uint8"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "SafeCastOverflowedUintDowncast",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "token",
    "type": "address"
   }
  ],
  "name": "SafeERC20FailedOperation",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "uint256",
    "name": "completedAt",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "lockedAt",
    "type": "uint256"
   }
  ],
  "name": "Settlement_CompletedOutOfTime",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "Settlement_OtherCompletion",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   }
  ],
  "name": "Settlement_WrongWallet",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "string",
    "name": "str",
    "type": "string"
   }
  ],
  "name": "StringTooLong",
  "type": "error"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint256",
    "name": "index",
    "type": "uint256"
   },
   {
    "indexed": true,
    "internalType": "bytes4",
    "name": "selector",
    "type": "bytes4"
   },
   {
    "indexed": false,
    "internalType": "bytes",
    "name": "reason",
    "type": "bytes"
   }
  ],
  "name": "BatchItemFailed",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "account",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "credits",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "free",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "escrowed",
    "type": "uint40"
   }
  ],
  "name": "Deposited",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [],
  "name": "EIP712DomainChanged",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint16",
    "name": "feeBps",
    "type": "uint16"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "effectiveAt",
    "type": "uint40"
   }
  ],
  "name": "FeeScheduled",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint8",
    "name": "gateway",
    "type": "uint8"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   }
  ],
  "name": "GatewayAdded",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint8",
    "name": "gateway",
    "type": "uint8"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "bool",
    "name": "enabled",
    "type": "bool"
   }
  ],
  "name": "GatewayLockingSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "guardian",
    "type": "address"
   }
  ],
  "name": "GuardianSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "worker",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint8",
    "name": "attempt",
    "type": "uint8"
   }
  ],
  "name": "JobAcknowledged",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "enum FailureReason",
    "name": "reason",
    "type": "uint8"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "credits",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "free",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "escrowed",
    "type": "uint40"
   }
  ],
  "name": "JobFailed",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   },
   {
    "indexed": false,
    "internalType": "uint8",
    "name": "gateway",
    "type": "uint8"
   },
   {
    "indexed": false,
    "internalType": "uint8",
    "name": "tier",
    "type": "uint8"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "credits",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint16",
    "name": "creditsPerRequest",
    "type": "uint16"
   },
   {
    "indexed": false,
    "internalType": "uint16",
    "name": "creditsPer1kTokens",
    "type": "uint16"
   },
   {
    "indexed": false,
    "internalType": "uint16",
    "name": "feeBps",
    "type": "uint16"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "free",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "escrowed",
    "type": "uint40"
   }
  ],
  "name": "JobLocked",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "worker",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "bytes32",
    "name": "proofHash",
    "type": "bytes32"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "promptTokens",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "completionTokens",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "completedAt",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "credits",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "finalizeFrom",
    "type": "uint40"
   }
  ],
  "name": "JobProven",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "credits",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "free",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "escrowed",
    "type": "uint40"
   }
  ],
  "name": "JobRefunded",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "worker",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "bytes32",
    "name": "proofHash",
    "type": "bytes32"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "promptTokens",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "completionTokens",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "billedTokens",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "credits",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "returned",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "workerUnits",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "feeUnits",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "free",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "escrowed",
    "type": "uint40"
   }
  ],
  "name": "JobSettled",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "previousOwner",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "newOwner",
    "type": "address"
   }
  ],
  "name": "OwnershipTransferred",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "bool",
    "name": "paused",
    "type": "bool"
   }
  ],
  "name": "PausedSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "payee",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "units",
    "type": "uint256"
   }
  ],
  "name": "PayoutClaimed",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "payee",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "units",
    "type": "uint256"
   }
  ],
  "name": "PayoutDeferred",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "treasury",
    "type": "address"
   }
  ],
  "name": "TreasurySet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "account",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "credits",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "free",
    "type": "uint40"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "escrowed",
    "type": "uint40"
   }
  ],
  "name": "Withdrawn",
  "type": "event"
 },
 {
  "inputs": [],
  "name": "CATALOG",
  "outputs": [
   {
    "internalType": "contract IModelCatalog",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "FEE_CAP_BPS",
  "outputs": [
   {
    "internalType": "uint16",
    "name": "",
    "type": "uint16"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "ITEM_GAS",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "MINIMUM_DEPOSIT",
  "outputs": [
   {
    "internalType": "uint40",
    "name": "",
    "type": "uint40"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "REGISTRY",
  "outputs": [
   {
    "internalType": "contract IWorkerRegistry",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "UNITS_PER_CREDIT",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   }
  ],
  "name": "accountOf",
  "outputs": [
   {
    "components": [
     {
      "internalType": "uint32",
      "name": "id",
      "type": "uint32"
     },
     {
      "internalType": "uint40",
      "name": "free",
      "type": "uint40"
     },
     {
      "internalType": "uint40",
      "name": "escrowed",
      "type": "uint40"
     },
     {
      "internalType": "uint32",
      "name": "sequence",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "dailyLimit",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "spentToday",
      "type": "uint32"
     },
     {
      "internalType": "uint16",
      "name": "spentDay",
      "type": "uint16"
     },
     {
      "internalType": "uint8",
      "name": "flags",
      "type": "uint8"
     },
     {
      "internalType": "uint8",
      "name": "openDisputes",
      "type": "uint8"
     }
    ],
    "internalType": "struct Account",
    "name": "",
    "type": "tuple"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "components": [
     {
      "internalType": "bytes16",
      "name": "jobId",
      "type": "bytes16"
     },
     {
      "internalType": "address",
      "name": "worker",
      "type": "address"
     },
     {
      "internalType": "uint8",
      "name": "attempt",
      "type": "uint8"
     },
     {
      "internalType": "uint40",
      "name": "acknowledgeBy",
      "type": "uint40"
     }
    ],
    "internalType": "struct Assignment",
    "name": "assignment",
    "type": "tuple"
   },
   {
    "components": [
     {
      "internalType": "bytes32",
      "name": "r",
      "type": "bytes32"
     },
     {
      "internalType": "bytes32",
      "name": "vs",
      "type": "bytes32"
     }
    ],
    "internalType": "struct Signature",
    "name": "byGateway",
    "type": "tuple"
   },
   {
    "components": [
     {
      "internalType": "bytes32",
      "name": "r",
      "type": "bytes32"
     },
     {
      "internalType": "bytes32",
      "name": "vs",
      "type": "bytes32"
     }
    ],
    "internalType": "struct Signature",
    "name": "byWorker",
    "type": "tuple"
   }
  ],
  "name": "acknowledge",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "addGateway",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "payee",
    "type": "address"
   }
  ],
  "name": "claim",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "payee",
    "type": "address"
   }
  ],
  "name": "claimableOf",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "units",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "components": [
     {
      "internalType": "bytes16",
      "name": "jobId",
      "type": "bytes16"
     },
     {
      "internalType": "bytes32",
      "name": "proofHash",
      "type": "bytes32"
     },
     {
      "internalType": "uint32",
      "name": "promptTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "completionTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint40",
      "name": "completedAt",
      "type": "uint40"
     }
    ],
    "internalType": "struct Completion",
    "name": "completion",
    "type": "tuple"
   },
   {
    "components": [
     {
      "internalType": "bytes32",
      "name": "r",
      "type": "bytes32"
     },
     {
      "internalType": "bytes32",
      "name": "vs",
      "type": "bytes32"
     }
    ],
    "internalType": "struct Signature",
    "name": "byWorker",
    "type": "tuple"
   },
   {
    "internalType": "uint8",
    "name": "attempt",
    "type": "uint8"
   },
   {
    "internalType": "uint32",
    "name": "countedTokens",
    "type": "uint32"
   },
   {
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   }
  ],
  "name": "complete",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint40",
    "name": "credits",
    "type": "uint40"
   }
  ],
  "name": "deposit",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint40",
    "name": "credits",
    "type": "uint40"
   },
   {
    "internalType": "uint256",
    "name": "deadline",
    "type": "uint256"
   },
   {
    "internalType": "uint8",
    "name": "v",
    "type": "uint8"
   },
   {
    "internalType": "bytes32",
    "name": "r",
    "type": "bytes32"
   },
   {
    "internalType": "bytes32",
    "name": "s",
    "type": "bytes32"
   }
  ],
  "name": "depositWithPermit",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "domainSeparator",
  "outputs": [
   {
    "internalType": "bytes32",
    "name": "",
    "type": "bytes32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "eip712Domain",
  "outputs": [
   {
    "internalType": "bytes1",
    "name": "fields",
    "type": "bytes1"
   },
   {
    "internalType": "string",
    "name": "name",
    "type": "string"
   },
   {
    "internalType": "string",
    "name": "version",
    "type": "string"
   },
   {
    "internalType": "uint256",
    "name": "chainId",
    "type": "uint256"
   },
   {
    "internalType": "address",
    "name": "verifyingContract",
    "type": "address"
   },
   {
    "internalType": "bytes32",
    "name": "salt",
    "type": "bytes32"
   },
   {
    "internalType": "uint256[]",
    "name": "extensions",
    "type": "uint256[]"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes[]",
    "name": "items",
    "type": "bytes[]"
   }
  ],
  "name": "execute",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "enum FailureReason",
    "name": "reason",
    "type": "uint8"
   }
  ],
  "name": "fail",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "feeBps",
  "outputs": [
   {
    "internalType": "uint16",
    "name": "",
    "type": "uint16"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "components": [
     {
      "internalType": "bytes16",
      "name": "jobId",
      "type": "bytes16"
     },
     {
      "internalType": "bytes32",
      "name": "proofHash",
      "type": "bytes32"
     },
     {
      "internalType": "uint32",
      "name": "promptTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "completionTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint40",
      "name": "completedAt",
      "type": "uint40"
     }
    ],
    "internalType": "struct Completion",
    "name": "completion",
    "type": "tuple"
   }
  ],
  "name": "finalize",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "gatewayOf",
  "outputs": [
   {
    "internalType": "uint8",
    "name": "id",
    "type": "uint8"
   },
   {
    "internalType": "bool",
    "name": "mayLock",
    "type": "bool"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "id",
    "type": "uint8"
   }
  ],
  "name": "gatewaySigner",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "guardian",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "jobOf",
  "outputs": [
   {
    "components": [
     {
      "internalType": "uint32",
      "name": "account",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "worker",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "credits",
      "type": "uint32"
     },
     {
      "internalType": "uint16",
      "name": "creditsPerRequest",
      "type": "uint16"
     },
     {
      "internalType": "uint16",
      "name": "creditsPer1kTokens",
      "type": "uint16"
     },
     {
      "internalType": "uint16",
      "name": "model",
      "type": "uint16"
     },
     {
      "internalType": "uint16",
      "name": "feeBps",
      "type": "uint16"
     },
     {
      "internalType": "uint40",
      "name": "lockedAt",
      "type": "uint40"
     },
     {
      "internalType": "uint32",
      "name": "deadline",
      "type": "uint32"
     },
     {
      "internalType": "uint8",
      "name": "gateway",
      "type": "uint8"
     },
     {
      "internalType": "uint8",
      "name": "attempt",
      "type": "uint8"
     },
     {
      "internalType": "enum JobStatus",
      "name": "status",
      "type": "uint8"
     }
    ],
    "internalType": "struct Job",
    "name": "",
    "type": "tuple"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "liabilities",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "credits",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "claimable",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   },
   {
    "internalType": "address",
    "name": "wallet",
    "type": "address"
   },
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   },
   {
    "internalType": "uint32",
    "name": "maxTokens",
    "type": "uint32"
   },
   {
    "internalType": "uint32",
    "name": "maxCredits",
    "type": "uint32"
   },
   {
    "internalType": "uint40",
    "name": "validUntil",
    "type": "uint40"
   }
  ],
  "name": "lock",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "owner",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "paused",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "proofOf",
  "outputs": [
   {
    "internalType": "bytes28",
    "name": "digest",
    "type": "bytes28"
   },
   {
    "internalType": "uint32",
    "name": "credits",
    "type": "uint32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bytes16",
    "name": "jobId",
    "type": "bytes16"
   }
  ],
  "name": "refund",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "renounceOwnership",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint16",
    "name": "feeBps_",
    "type": "uint16"
   }
  ],
  "name": "scheduleFee",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "bool",
    "name": "enabled",
    "type": "bool"
   }
  ],
  "name": "setGatewayLocking",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "guardian_",
    "type": "address"
   }
  ],
  "name": "setGuardian",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "bool",
    "name": "paused_",
    "type": "bool"
   }
  ],
  "name": "setPaused",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "treasury_",
    "type": "address"
   }
  ],
  "name": "setTreasury",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "components": [
     {
      "internalType": "bytes16",
      "name": "jobId",
      "type": "bytes16"
     },
     {
      "internalType": "bytes32",
      "name": "proofHash",
      "type": "bytes32"
     },
     {
      "internalType": "uint32",
      "name": "promptTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "completionTokens",
      "type": "uint32"
     },
     {
      "internalType": "uint40",
      "name": "completedAt",
      "type": "uint40"
     }
    ],
    "internalType": "struct Completion",
    "name": "completion",
    "type": "tuple"
   },
   {
    "components": [
     {
      "internalType": "bytes32",
      "name": "r",
      "type": "bytes32"
     },
     {
      "internalType": "bytes32",
      "name": "vs",
      "type": "bytes32"
     }
    ],
    "internalType": "struct Signature",
    "name": "byWorker",
    "type": "tuple"
   }
  ],
  "name": "submitProof",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "token",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "newOwner",
    "type": "address"
   }
  ],
  "name": "transferOwnership",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "treasury",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint32",
    "name": "account",
    "type": "uint32"
   }
  ],
  "name": "walletOf",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "windows",
  "outputs": [
   {
    "components": [
     {
      "internalType": "uint32",
      "name": "completion",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "inclusion",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "finalization",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "dispute",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "arbitration",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "equivocation",
      "type": "uint32"
     },
     {
      "internalType": "uint32",
      "name": "notice",
      "type": "uint32"
     }
    ],
    "internalType": "struct Windows",
    "name": "",
    "type": "tuple"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint40",
    "name": "credits",
    "type": "uint40"
   },
   {
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   }
  ],
  "name": "withdraw",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 }
] as const;

export const modelCatalogAbi = [
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner_",
    "type": "address"
   },
   {
    "internalType": "uint40",
    "name": "priceNotice_",
    "type": "uint40"
   },
   {
    "internalType": "uint40",
    "name": "retirementNotice_",
    "type": "uint40"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "constructor"
 },
 {
  "inputs": [
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   }
  ],
  "name": "Catalog_AlreadyRetired",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "Catalog_InvalidListing",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint16",
    "name": "creditsPerRequest",
    "type": "uint16"
   },
   {
    "internalType": "uint16",
    "name": "creditsPer1kTokens",
    "type": "uint16"
   }
  ],
  "name": "Catalog_InvalidPrice",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "string",
    "name": "id",
    "type": "string"
   }
  ],
  "name": "Catalog_ModelExists",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "requested",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "earliest",
    "type": "uint256"
   }
  ],
  "name": "Catalog_NoticeTooShort",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   }
  ],
  "name": "Catalog_UnknownModel",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   }
  ],
  "name": "OwnableInvalidOwner",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "OwnableUnauthorizedAccount",
  "type": "error"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "components": [
     {
      "internalType": "string",
      "name": "id",
      "type": "string"
     },
     {
      "internalType": "string",
      "name": "parameters",
      "type": "string"
     },
     {
      "internalType": "string",
      "name": "ownedBy",
      "type": "string"
     },
     {
      "internalType": "enum Tier",
      "name": "tier",
      "type": "uint8"
     },
     {
      "internalType": "uint16",
      "name": "creditsPerRequest",
      "type": "uint16"
     },
     {
      "internalType": "uint16",
      "name": "creditsPer1kTokens",
      "type": "uint16"
     },
     {
      "internalType": "uint32",
      "name": "contextWindow",
      "type": "uint32"
     }
    ],
    "indexed": false,
    "internalType": "struct ModelListing",
    "name": "listing",
    "type": "tuple"
   }
  ],
  "name": "ModelListed",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "previousOwner",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "newOwner",
    "type": "address"
   }
  ],
  "name": "OwnershipTransferred",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint16",
    "name": "creditsPerRequest",
    "type": "uint16"
   },
   {
    "indexed": false,
    "internalType": "uint16",
    "name": "creditsPer1kTokens",
    "type": "uint16"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "effectiveAt",
    "type": "uint40"
   }
  ],
  "name": "PricesScheduled",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "retiresAt",
    "type": "uint40"
   }
  ],
  "name": "RetirementScheduled",
  "type": "event"
 },
 {
  "inputs": [
   {
    "components": [
     {
      "internalType": "string",
      "name": "id",
      "type": "string"
     },
     {
      "internalType": "string",
      "name": "parameters",
      "type": "string"
     },
     {
      "internalType": "string",
      "name": "ownedBy",
      "type": "string"
     },
     {
      "internalType": "enum Tier",
      "name": "tier",
      "type": "uint8"
     },
     {
      "internalType": "uint16",
      "name": "creditsPerRequest",
      "type": "uint16"
     },
     {
      "internalType": "uint16",
      "name": "creditsPer1kTokens",
      "type": "uint16"
     },
     {
      "internalType": "uint32",
      "name": "contextWindow",
      "type": "uint32"
     }
    ],
    "internalType": "struct ModelListing",
    "name": "listing",
    "type": "tuple"
   }
  ],
  "name": "list",
  "outputs": [
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   }
  ],
  "name": "modelAt",
  "outputs": [
   {
    "components": [
     {
      "internalType": "uint16",
      "name": "number",
      "type": "uint16"
     },
     {
      "components": [
       {
        "internalType": "string",
        "name": "id",
        "type": "string"
       },
       {
        "internalType": "string",
        "name": "parameters",
        "type": "string"
       },
       {
        "internalType": "string",
        "name": "ownedBy",
        "type": "string"
       },
       {
        "internalType": "enum Tier",
        "name": "tier",
        "type": "uint8"
       },
       {
        "internalType": "uint16",
        "name": "creditsPerRequest",
        "type": "uint16"
       },
       {
        "internalType": "uint16",
        "name": "creditsPer1kTokens",
        "type": "uint16"
       },
       {
        "internalType": "uint32",
        "name": "contextWindow",
        "type": "uint32"
       }
      ],
      "internalType": "struct ModelListing",
      "name": "listing",
      "type": "tuple"
     },
     {
      "internalType": "uint40",
      "name": "createdAt",
      "type": "uint40"
     },
     {
      "internalType": "uint40",
      "name": "retiresAt",
      "type": "uint40"
     },
     {
      "internalType": "uint16",
      "name": "nextCreditsPerRequest",
      "type": "uint16"
     },
     {
      "internalType": "uint16",
      "name": "nextCreditsPer1kTokens",
      "type": "uint16"
     },
     {
      "internalType": "uint40",
      "name": "pricesChangeAt",
      "type": "uint40"
     }
    ],
    "internalType": "struct ModelView",
    "name": "view_",
    "type": "tuple"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "modelCount",
  "outputs": [
   {
    "internalType": "uint16",
    "name": "",
    "type": "uint16"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "owner",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "priceNotice",
  "outputs": [
   {
    "internalType": "uint40",
    "name": "",
    "type": "uint40"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "renounceOwnership",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "retirementNotice",
  "outputs": [
   {
    "internalType": "uint40",
    "name": "",
    "type": "uint40"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   },
   {
    "internalType": "uint16",
    "name": "creditsPerRequest",
    "type": "uint16"
   },
   {
    "internalType": "uint16",
    "name": "creditsPer1kTokens",
    "type": "uint16"
   }
  ],
  "name": "schedulePrices",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   },
   {
    "internalType": "uint40",
    "name": "retiresAt",
    "type": "uint40"
   }
  ],
  "name": "scheduleRetirement",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   }
  ],
  "name": "termsOf",
  "outputs": [
   {
    "internalType": "bool",
    "name": "active",
    "type": "bool"
   },
   {
    "internalType": "enum Tier",
    "name": "tier",
    "type": "uint8"
   },
   {
    "internalType": "uint16",
    "name": "creditsPerRequest",
    "type": "uint16"
   },
   {
    "internalType": "uint16",
    "name": "creditsPer1kTokens",
    "type": "uint16"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "newOwner",
    "type": "address"
   }
  ],
  "name": "transferOwnership",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 }
] as const;

export const workerRegistryAbi = [
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner_",
    "type": "address"
   },
   {
    "internalType": "contract IERC20",
    "name": "stakeToken",
    "type": "address"
   },
   {
    "internalType": "uint56",
    "name": "minimumStake_",
    "type": "uint56"
   },
   {
    "internalType": "uint40",
    "name": "unbondingPeriod_",
    "type": "uint40"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "constructor"
 },
 {
  "inputs": [],
  "name": "ECDSAInvalidSignature",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "length",
    "type": "uint256"
   }
  ],
  "name": "ECDSAInvalidSignatureLength",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "s",
    "type": "bytes32"
   }
  ],
  "name": "ECDSAInvalidSignatureS",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "InvalidShortString",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   }
  ],
  "name": "OwnableInvalidOwner",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "OwnableUnauthorizedAccount",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "Registry_InvalidConfiguration",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "Registry_InvalidEndpoint",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "recovered",
    "type": "address"
   }
  ],
  "name": "Registry_InvalidEnrollment",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   }
  ],
  "name": "Registry_InvalidModel",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "payout",
    "type": "address"
   }
  ],
  "name": "Registry_InvalidPayout",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   }
  ],
  "name": "Registry_InvalidReceiver",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "Registry_NoStake",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "caller",
    "type": "address"
   }
  ],
  "name": "Registry_NotOwner",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "Registry_NotUnbonding",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "unbondsAt",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "now_",
    "type": "uint256"
   }
  ],
  "name": "Registry_StillBonded",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "Registry_Unbonding",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "Registry_UnknownWorker",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "Registry_WorkerExists",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "Registry_ZeroStake",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "bits",
    "type": "uint8"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "SafeCastOverflowedUintDowncast",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "token",
    "type": "address"
   }
  ],
  "name": "SafeERC20FailedOperation",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "string",
    "name": "str",
    "type": "string"
   }
  ],
  "name": "StringTooLong",
  "type": "error"
 },
 {
  "anonymous": false,
  "inputs": [],
  "name": "EIP712DomainChanged",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "worker",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "string",
    "name": "endpoint",
    "type": "string"
   }
  ],
  "name": "EndpointSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "escrow",
    "type": "address"
   }
  ],
  "name": "EscrowSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "worker",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint16[]",
    "name": "models",
    "type": "uint16[]"
   },
   {
    "indexed": false,
    "internalType": "bool",
    "name": "hosted",
    "type": "bool"
   }
  ],
  "name": "HostingSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint56",
    "name": "minimumStake",
    "type": "uint56"
   }
  ],
  "name": "MinimumStakeSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "previousOwner",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "newOwner",
    "type": "address"
   }
  ],
  "name": "OwnershipTransferred",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "worker",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "address",
    "name": "payout",
    "type": "address"
   }
  ],
  "name": "PayoutSet",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "worker",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint56",
    "name": "added",
    "type": "uint56"
   },
   {
    "indexed": false,
    "internalType": "uint56",
    "name": "stake",
    "type": "uint56"
   }
  ],
  "name": "StakeAdded",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "worker",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint56",
    "name": "stake",
    "type": "uint56"
   },
   {
    "indexed": false,
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   }
  ],
  "name": "StakeWithdrawn",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "worker",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   }
  ],
  "name": "UnbondingCancelled",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "worker",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "uint40",
    "name": "unbondsAt",
    "type": "uint40"
   }
  ],
  "name": "UnbondingStarted",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "uint32",
    "name": "worker",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "owner",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": false,
    "internalType": "address",
    "name": "payout",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "string",
    "name": "endpoint",
    "type": "string"
   }
  ],
  "name": "WorkerRegistered",
  "type": "event"
 },
 {
  "inputs": [],
  "name": "STAKE_TOKEN",
  "outputs": [
   {
    "internalType": "contract IERC20",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "STAKE_UNIT",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "uint56",
    "name": "stake",
    "type": "uint56"
   }
  ],
  "name": "addStake",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "cancelUnbonding",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "eip712Domain",
  "outputs": [
   {
    "internalType": "bytes1",
    "name": "fields",
    "type": "bytes1"
   },
   {
    "internalType": "string",
    "name": "name",
    "type": "string"
   },
   {
    "internalType": "string",
    "name": "version",
    "type": "string"
   },
   {
    "internalType": "uint256",
    "name": "chainId",
    "type": "uint256"
   },
   {
    "internalType": "address",
    "name": "verifyingContract",
    "type": "address"
   },
   {
    "internalType": "bytes32",
    "name": "salt",
    "type": "bytes32"
   },
   {
    "internalType": "uint256[]",
    "name": "extensions",
    "type": "uint256[]"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "uint16",
    "name": "model",
    "type": "uint16"
   }
  ],
  "name": "eligiblePayeeOf",
  "outputs": [
   {
    "internalType": "uint32",
    "name": "id",
    "type": "uint32"
   },
   {
    "internalType": "address",
    "name": "payout",
    "type": "address"
   },
   {
    "internalType": "bool",
    "name": "eligible",
    "type": "bool"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "escrow",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "minimumStake",
  "outputs": [
   {
    "internalType": "uint56",
    "name": "",
    "type": "uint56"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "owner",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "payeeOf",
  "outputs": [
   {
    "internalType": "uint32",
    "name": "id",
    "type": "uint32"
   },
   {
    "internalType": "address",
    "name": "payout",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "payout",
    "type": "address"
   },
   {
    "internalType": "string",
    "name": "endpoint",
    "type": "string"
   },
   {
    "internalType": "uint16[]",
    "name": "models",
    "type": "uint16[]"
   },
   {
    "internalType": "uint56",
    "name": "stake",
    "type": "uint56"
   },
   {
    "components": [
     {
      "internalType": "bytes32",
      "name": "r",
      "type": "bytes32"
     },
     {
      "internalType": "bytes32",
      "name": "vs",
      "type": "bytes32"
     }
    ],
    "internalType": "struct Signature",
    "name": "enrollment",
    "type": "tuple"
   }
  ],
  "name": "register",
  "outputs": [
   {
    "internalType": "uint32",
    "name": "id",
    "type": "uint32"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "renounceOwnership",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "string",
    "name": "endpoint",
    "type": "string"
   }
  ],
  "name": "setEndpoint",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "escrow_",
    "type": "address"
   }
  ],
  "name": "setEscrow",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "uint16[]",
    "name": "models",
    "type": "uint16[]"
   },
   {
    "internalType": "bool",
    "name": "hosted",
    "type": "bool"
   }
  ],
  "name": "setHosting",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint56",
    "name": "minimumStake_",
    "type": "uint56"
   }
  ],
  "name": "setMinimumStake",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "payout",
    "type": "address"
   }
  ],
  "name": "setPayout",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint32",
    "name": "id",
    "type": "uint32"
   }
  ],
  "name": "signerOf",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   }
  ],
  "name": "startUnbonding",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "newOwner",
    "type": "address"
   }
  ],
  "name": "transferOwnership",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "unbondingPeriod",
  "outputs": [
   {
    "internalType": "uint40",
    "name": "",
    "type": "uint40"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   }
  ],
  "name": "withdrawStake",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint32",
    "name": "id",
    "type": "uint32"
   }
  ],
  "name": "workerAt",
  "outputs": [
   {
    "components": [
     {
      "internalType": "uint32",
      "name": "id",
      "type": "uint32"
     },
     {
      "internalType": "address",
      "name": "signer",
      "type": "address"
     },
     {
      "internalType": "address",
      "name": "owner",
      "type": "address"
     },
     {
      "internalType": "address",
      "name": "payout",
      "type": "address"
     },
     {
      "internalType": "uint56",
      "name": "stake",
      "type": "uint56"
     },
     {
      "internalType": "uint40",
      "name": "unbondsAt",
      "type": "uint40"
     },
     {
      "internalType": "bool",
      "name": "active",
      "type": "bool"
     },
     {
      "internalType": "string",
      "name": "endpoint",
      "type": "string"
     },
     {
      "internalType": "uint16[]",
      "name": "models",
      "type": "uint16[]"
     }
    ],
    "internalType": "struct WorkerView",
    "name": "",
    "type": "tuple"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "workerCount",
  "outputs": [
   {
    "internalType": "uint32",
    "name": "",
    "type": "uint32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 }
] as const;

export const protocolTreasuryAbi = [
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner_",
    "type": "address"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "constructor"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   }
  ],
  "name": "OwnableInvalidOwner",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "OwnableUnauthorizedAccount",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "token",
    "type": "address"
   }
  ],
  "name": "SafeERC20FailedOperation",
  "type": "error"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "previousOwner",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "newOwner",
    "type": "address"
   }
  ],
  "name": "OwnershipTransferred",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": false,
    "internalType": "uint32",
    "name": "sequence",
    "type": "uint32"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "token",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "units",
    "type": "uint256"
   }
  ],
  "name": "TreasuryPaid",
  "type": "event"
 },
 {
  "inputs": [],
  "name": "owner",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "contract IERC20",
    "name": "token",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "units",
    "type": "uint256"
   }
  ],
  "name": "pay",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "renounceOwnership",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "newOwner",
    "type": "address"
   }
  ],
  "name": "transferOwnership",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 }
] as const;

export const serviceTokenAbi = [
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "holder",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "supply",
    "type": "uint256"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "constructor"
 },
 {
  "inputs": [],
  "name": "CheckpointUnorderedInsertion",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "ECDSAInvalidSignature",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "length",
    "type": "uint256"
   }
  ],
  "name": "ECDSAInvalidSignatureLength",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "s",
    "type": "bytes32"
   }
  ],
  "name": "ECDSAInvalidSignatureS",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "increasedSupply",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "cap",
    "type": "uint256"
   }
  ],
  "name": "ERC20ExceededSafeSupply",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "spender",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "allowance",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "needed",
    "type": "uint256"
   }
  ],
  "name": "ERC20InsufficientAllowance",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "sender",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "balance",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "needed",
    "type": "uint256"
   }
  ],
  "name": "ERC20InsufficientBalance",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "approver",
    "type": "address"
   }
  ],
  "name": "ERC20InvalidApprover",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   }
  ],
  "name": "ERC20InvalidReceiver",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "sender",
    "type": "address"
   }
  ],
  "name": "ERC20InvalidSender",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "spender",
    "type": "address"
   }
  ],
  "name": "ERC20InvalidSpender",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "deadline",
    "type": "uint256"
   }
  ],
  "name": "ERC2612ExpiredSignature",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   }
  ],
  "name": "ERC2612InvalidSigner",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "timepoint",
    "type": "uint256"
   },
   {
    "internalType": "uint48",
    "name": "clock",
    "type": "uint48"
   }
  ],
  "name": "ERC5805FutureLookup",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "currentNonce",
    "type": "uint256"
   }
  ],
  "name": "InvalidAccountNonce",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "InvalidShortString",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint8",
    "name": "bits",
    "type": "uint8"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "SafeCastOverflowedUintDowncast",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "string",
    "name": "str",
    "type": "string"
   }
  ],
  "name": "StringTooLong",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "expiry",
    "type": "uint256"
   }
  ],
  "name": "VotesExpiredSignature",
  "type": "error"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "owner",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "spender",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "Approval",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "delegator",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "fromDelegate",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "toDelegate",
    "type": "address"
   }
  ],
  "name": "DelegateChanged",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "delegate",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "previousVotes",
    "type": "uint256"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "newVotes",
    "type": "uint256"
   }
  ],
  "name": "DelegateVotesChanged",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [],
  "name": "EIP712DomainChanged",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "from",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "to",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "Transfer",
  "type": "event"
 },
 {
  "inputs": [],
  "name": "CLOCK_MODE",
  "outputs": [
   {
    "internalType": "string",
    "name": "",
    "type": "string"
   }
  ],
  "stateMutability": "pure",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "DOMAIN_SEPARATOR",
  "outputs": [
   {
    "internalType": "bytes32",
    "name": "",
    "type": "bytes32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "spender",
    "type": "address"
   }
  ],
  "name": "allowance",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "spender",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "approve",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "balanceOf",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   },
   {
    "internalType": "uint32",
    "name": "pos",
    "type": "uint32"
   }
  ],
  "name": "checkpoints",
  "outputs": [
   {
    "components": [
     {
      "internalType": "uint48",
      "name": "_key",
      "type": "uint48"
     },
     {
      "internalType": "uint208",
      "name": "_value",
      "type": "uint208"
     }
    ],
    "internalType": "struct Checkpoints.Checkpoint208",
    "name": "",
    "type": "tuple"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "clock",
  "outputs": [
   {
    "internalType": "uint48",
    "name": "",
    "type": "uint48"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "decimals",
  "outputs": [
   {
    "internalType": "uint8",
    "name": "",
    "type": "uint8"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "delegatee",
    "type": "address"
   }
  ],
  "name": "delegate",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "delegatee",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "nonce",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "expiry",
    "type": "uint256"
   },
   {
    "internalType": "uint8",
    "name": "v",
    "type": "uint8"
   },
   {
    "internalType": "bytes32",
    "name": "r",
    "type": "bytes32"
   },
   {
    "internalType": "bytes32",
    "name": "s",
    "type": "bytes32"
   }
  ],
  "name": "delegateBySig",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "delegates",
  "outputs": [
   {
    "internalType": "address",
    "name": "",
    "type": "address"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "eip712Domain",
  "outputs": [
   {
    "internalType": "bytes1",
    "name": "fields",
    "type": "bytes1"
   },
   {
    "internalType": "string",
    "name": "name",
    "type": "string"
   },
   {
    "internalType": "string",
    "name": "version",
    "type": "string"
   },
   {
    "internalType": "uint256",
    "name": "chainId",
    "type": "uint256"
   },
   {
    "internalType": "address",
    "name": "verifyingContract",
    "type": "address"
   },
   {
    "internalType": "bytes32",
    "name": "salt",
    "type": "bytes32"
   },
   {
    "internalType": "uint256[]",
    "name": "extensions",
    "type": "uint256[]"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "timepoint",
    "type": "uint256"
   }
  ],
  "name": "getPastTotalSupply",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "timepoint",
    "type": "uint256"
   }
  ],
  "name": "getPastVotes",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "getVotes",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "name",
  "outputs": [
   {
    "internalType": "string",
    "name": "",
    "type": "string"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   }
  ],
  "name": "nonces",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "numCheckpoints",
  "outputs": [
   {
    "internalType": "uint32",
    "name": "",
    "type": "uint32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "spender",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "deadline",
    "type": "uint256"
   },
   {
    "internalType": "uint8",
    "name": "v",
    "type": "uint8"
   },
   {
    "internalType": "bytes32",
    "name": "r",
    "type": "bytes32"
   },
   {
    "internalType": "bytes32",
    "name": "s",
    "type": "bytes32"
   }
  ],
  "name": "permit",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "symbol",
  "outputs": [
   {
    "internalType": "string",
    "name": "",
    "type": "string"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "totalSupply",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "to",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "transfer",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "from",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "to",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "transferFrom",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 }
] as const;

export const testStablecoinAbi = [
 {
  "inputs": [],
  "stateMutability": "nonpayable",
  "type": "constructor"
 },
 {
  "inputs": [],
  "name": "ECDSAInvalidSignature",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "length",
    "type": "uint256"
   }
  ],
  "name": "ECDSAInvalidSignatureLength",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "bytes32",
    "name": "s",
    "type": "bytes32"
   }
  ],
  "name": "ECDSAInvalidSignatureS",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "spender",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "allowance",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "needed",
    "type": "uint256"
   }
  ],
  "name": "ERC20InsufficientAllowance",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "sender",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "balance",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "needed",
    "type": "uint256"
   }
  ],
  "name": "ERC20InsufficientBalance",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "approver",
    "type": "address"
   }
  ],
  "name": "ERC20InvalidApprover",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "receiver",
    "type": "address"
   }
  ],
  "name": "ERC20InvalidReceiver",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "sender",
    "type": "address"
   }
  ],
  "name": "ERC20InvalidSender",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "spender",
    "type": "address"
   }
  ],
  "name": "ERC20InvalidSpender",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "uint256",
    "name": "deadline",
    "type": "uint256"
   }
  ],
  "name": "ERC2612ExpiredSignature",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "signer",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   }
  ],
  "name": "ERC2612InvalidSigner",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "currentNonce",
    "type": "uint256"
   }
  ],
  "name": "InvalidAccountNonce",
  "type": "error"
 },
 {
  "inputs": [],
  "name": "InvalidShortString",
  "type": "error"
 },
 {
  "inputs": [
   {
    "internalType": "string",
    "name": "str",
    "type": "string"
   }
  ],
  "name": "StringTooLong",
  "type": "error"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "owner",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "spender",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "Approval",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [],
  "name": "EIP712DomainChanged",
  "type": "event"
 },
 {
  "anonymous": false,
  "inputs": [
   {
    "indexed": true,
    "internalType": "address",
    "name": "from",
    "type": "address"
   },
   {
    "indexed": true,
    "internalType": "address",
    "name": "to",
    "type": "address"
   },
   {
    "indexed": false,
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "Transfer",
  "type": "event"
 },
 {
  "inputs": [],
  "name": "DOMAIN_SEPARATOR",
  "outputs": [
   {
    "internalType": "bytes32",
    "name": "",
    "type": "bytes32"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "spender",
    "type": "address"
   }
  ],
  "name": "allowance",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "spender",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "approve",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "account",
    "type": "address"
   }
  ],
  "name": "balanceOf",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "decimals",
  "outputs": [
   {
    "internalType": "uint8",
    "name": "",
    "type": "uint8"
   }
  ],
  "stateMutability": "pure",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "eip712Domain",
  "outputs": [
   {
    "internalType": "bytes1",
    "name": "fields",
    "type": "bytes1"
   },
   {
    "internalType": "string",
    "name": "name",
    "type": "string"
   },
   {
    "internalType": "string",
    "name": "version",
    "type": "string"
   },
   {
    "internalType": "uint256",
    "name": "chainId",
    "type": "uint256"
   },
   {
    "internalType": "address",
    "name": "verifyingContract",
    "type": "address"
   },
   {
    "internalType": "bytes32",
    "name": "salt",
    "type": "bytes32"
   },
   {
    "internalType": "uint256[]",
    "name": "extensions",
    "type": "uint256[]"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "to",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "units",
    "type": "uint256"
   }
  ],
  "name": "mint",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "name",
  "outputs": [
   {
    "internalType": "string",
    "name": "",
    "type": "string"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   }
  ],
  "name": "nonces",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "owner",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "spender",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   },
   {
    "internalType": "uint256",
    "name": "deadline",
    "type": "uint256"
   },
   {
    "internalType": "uint8",
    "name": "v",
    "type": "uint8"
   },
   {
    "internalType": "bytes32",
    "name": "r",
    "type": "bytes32"
   },
   {
    "internalType": "bytes32",
    "name": "s",
    "type": "bytes32"
   }
  ],
  "name": "permit",
  "outputs": [],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "symbol",
  "outputs": [
   {
    "internalType": "string",
    "name": "",
    "type": "string"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [],
  "name": "totalSupply",
  "outputs": [
   {
    "internalType": "uint256",
    "name": "",
    "type": "uint256"
   }
  ],
  "stateMutability": "view",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "to",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "transfer",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 },
 {
  "inputs": [
   {
    "internalType": "address",
    "name": "from",
    "type": "address"
   },
   {
    "internalType": "address",
    "name": "to",
    "type": "address"
   },
   {
    "internalType": "uint256",
    "name": "value",
    "type": "uint256"
   }
  ],
  "name": "transferFrom",
  "outputs": [
   {
    "internalType": "bool",
    "name": "",
    "type": "bool"
   }
  ],
  "stateMutability": "nonpayable",
  "type": "function"
 }
] as const;

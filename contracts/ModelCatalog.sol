// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IModelCatalog, ModelListing, ModelView, Tier} from "./interfaces/IModelCatalog.sol";
import {Pricing} from "./Pricing.sol";
import {LockTerms, LockTermsFields} from "./Words.sol";

/// @title Models, tiers, prices and retirement
contract ModelCatalog is IModelCatalog, Ownable {
    /// @dev One slot: all that a lock reads. Announced prices apply by time, nobody has to switch them.
    // The linter takes an enum for a whole slot.
    // solhint-disable-next-line gas-struct-packing
    struct Terms {
        uint16 perRequest;
        uint16 per1k;
        uint16 nextPerRequest;
        uint16 nextPer1k;
        uint40 pricesChangeAt; // 0: nothing announced
        uint40 retiresAt; // 0: not scheduled
        uint40 createdAt; // 0: unknown model
        Tier tier;
        uint32 sequence;
    }

    struct Label {
        string id;
        string parameters;
        string ownedBy;
        uint32 contextWindow;
    }

    /// @inheritdoc IModelCatalog
    // The getter carries the name that the interface gives it.
    // solhint-disable-next-line immutable-vars-naming
    uint40 public immutable override priceNotice;
    /// @inheritdoc IModelCatalog
    // solhint-disable-next-line immutable-vars-naming
    uint40 public immutable override retirementNotice;
    /// @inheritdoc IModelCatalog
    uint16 public override modelCount;

    mapping(uint16 model => Terms) private _terms;
    mapping(uint16 model => Label) private _labels;
    mapping(bytes32 idHash => uint16 model) private _byId;

    constructor(address owner_, uint40 priceNotice_, uint40 retirementNotice_) Ownable(owner_) {
        // On a development chain a second is enough.
        bool dev = block.chainid == 31337;
        _atLeast("priceNotice", priceNotice_, dev ? 1 : 12 hours);
        _atLeast("retirementNotice", retirementNotice_, dev ? 1 : 14 days);
        priceNotice = priceNotice_;
        retirementNotice = retirementNotice_;
    }

    /// @inheritdoc IModelCatalog
    function list(ModelListing calldata listing) external onlyOwner returns (uint16 model) {
        if (bytes(listing.id).length == 0 || listing.contextWindow == 0) {
            revert Catalog_InvalidListing(listing.id, listing.contextWindow);
        }
        _checkPrices(listing.contextWindow, listing.creditsPerRequest, listing.creditsPer1kTokens);
        bytes32 idHash = keccak256(bytes(listing.id));
        if (_byId[idHash] != 0) revert Catalog_ModelExists(listing.id);

        model = ++modelCount;
        _byId[idHash] = model;
        _labels[model] = Label(listing.id, listing.parameters, listing.ownedBy, listing.contextWindow);
        Terms storage terms = _terms[model];
        terms.perRequest = listing.creditsPerRequest;
        terms.per1k = listing.creditsPer1kTokens;
        terms.createdAt = uint40(block.timestamp);
        terms.tier = listing.tier;
        terms.sequence = 1;
        emit ModelListed(model, 1, listing);
    }

    /// @inheritdoc IModelCatalog
    function schedulePrices(uint16 model, uint16 creditsPerRequest, uint16 creditsPer1kTokens) external onlyOwner {
        Terms storage terms = _known(model);
        _checkPrices(_labels[model].contextWindow, creditsPerRequest, creditsPer1kTokens);
        (terms.perRequest, terms.per1k) = _pricesNow(terms);
        terms.nextPerRequest = creditsPerRequest;
        terms.nextPer1k = creditsPer1kTokens;
        terms.pricesChangeAt = uint40(block.timestamp) + priceNotice;
        terms.sequence += 1;
        emit PricesScheduled(model, terms.sequence, creditsPerRequest, creditsPer1kTokens, terms.pricesChangeAt);
    }

    /// @inheritdoc IModelCatalog
    function scheduleRetirement(uint16 model, uint40 retiresAt) external onlyOwner {
        Terms storage terms = _known(model);
        if (_isRetired(terms)) revert Catalog_AlreadyRetired(model);
        uint256 earliest = block.timestamp + retirementNotice;
        if (retiresAt < earliest) revert Catalog_NoticeTooShort(retiresAt, earliest);
        terms.retiresAt = retiresAt;
        terms.sequence += 1;
        emit RetirementScheduled(model, terms.sequence, retiresAt);
    }

    /// @inheritdoc IModelCatalog
    function termsOf(uint16 model) external view returns (LockTerms) {
        // `_isRetired` and `_pricesNow` written out: each lock asks this, and here the slot is read once.
        Terms storage terms = _terms[model];
        (uint40 retiresAt, uint40 changeAt) = (terms.retiresAt, terms.pricesChangeAt);
        if (terms.createdAt == 0 || (retiresAt != 0 && block.timestamp >= retiresAt)) return LockTerms.wrap(0);
        uint8 tier = uint8(terms.tier);
        if (changeAt != 0 && block.timestamp >= changeAt) {
            return LockTermsFields.pack(terms.nextPerRequest, terms.nextPer1k, tier);
        }
        return LockTermsFields.pack(terms.perRequest, terms.per1k, tier);
    }

    /// @inheritdoc IModelCatalog
    function modelAt(uint16 model) external view returns (ModelView memory view_) {
        Terms storage terms = _known(model);
        Label memory label = _labels[model];
        (uint16 perRequest, uint16 per1k) = _pricesNow(terms);
        bool announced = block.timestamp < terms.pricesChangeAt;
        view_ = ModelView({
            number: model,
            listing: ModelListing({
                id: label.id,
                parameters: label.parameters,
                ownedBy: label.ownedBy,
                tier: terms.tier,
                creditsPerRequest: perRequest,
                creditsPer1kTokens: per1k,
                contextWindow: label.contextWindow
            }),
            createdAt: terms.createdAt,
            retiresAt: terms.retiresAt,
            nextCreditsPerRequest: announced ? terms.nextPerRequest : 0,
            nextCreditsPer1kTokens: announced ? terms.nextPer1k : 0,
            pricesChangeAt: announced ? terms.pricesChangeAt : 0
        });
    }

    function _known(uint16 model) private view returns (Terms storage terms) {
        terms = _terms[model];
        if (terms.createdAt == 0) revert Catalog_UnknownModel(model);
    }

    function _isRetired(Terms storage terms) private view returns (bool) {
        return terms.retiresAt != 0 && block.timestamp >= terms.retiresAt;
    }

    function _pricesNow(Terms storage terms) private view returns (uint16 perRequest, uint16 per1k) {
        if (terms.pricesChangeAt != 0 && block.timestamp >= terms.pricesChangeAt) {
            return (terms.nextPerRequest, terms.nextPer1k);
        }
        return (terms.perRequest, terms.per1k);
    }

    function _atLeast(bytes32 notice, uint256 value, uint256 minimum) private pure {
        if (value < minimum) revert Catalog_InvalidNotice(notice, value, minimum);
    }

    /// @dev An answer that fills the whole context window must fit a job's limit: a price can never end a model.
    function _checkPrices(uint32 contextWindow, uint16 perRequest, uint16 per1k) private pure {
        if (perRequest == 0 || per1k == 0) revert Catalog_InvalidPrice(perRequest, per1k);
        uint32 most = Pricing.quote(contextWindow, perRequest, per1k);
        if (most > Pricing.JOB_LIMIT) revert Catalog_PriceAboveLimit(contextWindow, most, Pricing.JOB_LIMIT);
    }
}
